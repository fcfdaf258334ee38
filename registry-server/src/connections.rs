//! The connections of the server: accepted, given some time to say what they want, and ended when the server ends.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower_service::Service as _;

/// How long the head of a request may take, and a connection be open without one.
const HEAD: Duration = Duration::from_secs(30);

/// The pause after a connection that could not be accepted: there may be no more files to open.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until `end`, and then those who are being answered.
pub(crate) async fn serve(listener: TcpListener, routes: Router, end: impl Future<Output = ()>) {
    let mut make = routes.into_make_service_with_connect_info::<SocketAddr>();
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    let (ending, told) = watch::channel(());
    let mut connections = JoinSet::new();
    tokio::pin!(end);
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(service) = make.call(peer).await;
        let (builder, mut told) = (builder.clone(), told.clone());
        connections.spawn(async move {
            let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
            tokio::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                _ = told.changed() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(error, %peer, "a connection ended before its time");
            }
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    // Receivers are gone where no connection is open.
    let _ = ending.send(());
    while connections.join_next().await.is_some() {}
}
