//! The same with files in a store that speaks S3, and then with rows in PostgreSQL too.

use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;

use crate::operations::comes_back;
use crate::postgres::{Cluster, publish_in_turns};
use crate::publishing::life_of_a_pack;
use crate::server::{Server, Variables, in_database, operate_on};

const KEY: &str = "exo-test";
const SECRET: &str = "not a secret";

/// A store on a free port, with one bucket, for as long as the process runs.
struct Store {
    port: u16,
    _folder: TempDir,
}

impl Store {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("packs")).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = service.build();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                loop {
                    let Ok((socket, _)) = listener.accept().await else { continue };
                    let service = service.clone();
                    tokio::spawn(async move {
                        let server = Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(TokioIo::new(socket), service).await;
                    });
                }
            });
        });
        Self { port, _folder: folder }
    }

    /// What a registry needs to know of it, with some secret.
    fn variables_with(&self, secret: &str) -> Variables {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let variables = [
            ("EXO_REGISTRY_BLOBS", "s3://packs/exo"),
            ("AWS_ENDPOINT", &endpoint),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", secret),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn variables(&self) -> Variables {
        self.variables_with(SECRET)
    }
}

fn folder() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}

#[test]
fn a_pack_lives_in_a_store() {
    let store = Store::start();
    life_of_a_pack(&Server::start_on(folder(), store.variables()));
}

#[test]
fn a_backup_of_files_restores_into_a_store() {
    comes_back(Store::start().variables());
}

#[test]
fn a_wrong_secret_of_the_store_is_said_at_the_start() {
    let said = operate_on(folder().path(), &Store::start().variables_with("another"), "init", &[]).unwrap_err();
    assert!(said.contains("error: ") && said.contains("SignatureDoesNotMatch"), "{said}");
}

/// Two servers on two machines: only `keys/` is copied, rows and files are shared.
#[test]
fn replicas_share_a_database_and_a_store() {
    let (cluster, store) = (Cluster::start(), Store::start());
    let variables: Variables = store.variables().into_iter().chain(in_database(cluster.url())).collect();
    let one = Server::start_on(folder(), variables.clone());
    let other = folder();
    std::fs::create_dir(other.path().join("keys")).unwrap();
    for name in ["root.key", "index.key", "verdict.key", "sealing.key"] {
        std::fs::copy(one.path("keys").join(name), other.path().join("keys").join(name)).unwrap();
    }
    let two = Server::start_on(other, variables);
    publish_in_turns(&one, &two);
    one.operate("verify-all", &[]);
}
