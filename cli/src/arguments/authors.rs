//! What those who publish can type: accounts, tokens, publishing, and what they say of packs afterwards.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use exo_index::registry::rights::Right;

/// Which registry a command talks to.
#[derive(Clone, Debug, Args)]
pub(crate) struct At {
    /// The registry, by its name in the configuration or its URL; the one in use when left out
    #[arg(long, value_name = "REGISTRY")]
    pub(crate) registry: Option<String>,
}

/// What shows that it is really the account's owner who asks.
#[derive(Clone, Debug, Args)]
pub(crate) struct Proof {
    /// A code of your second factor, or a recovery code, for accounts that have one; asked for when it is needed
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    code: Option<String>,
}

impl Proof {
    pub(crate) fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Publish {
    /// Let the registry check everything, and publish nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) at: At,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Yank {
    /// The version, such as `neon@1.1.0`
    #[arg(value_name = "PACK@VERSION")]
    pub(crate) version: String,
    #[command(flatten)]
    pub(crate) how: Withdraw,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Deprecate {
    /// Name of the pack
    #[arg(value_name = "PACK")]
    pub(crate) pack: String,
    #[command(flatten)]
    pub(crate) how: Withdraw,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Archive {
    /// Name of the pack
    #[arg(value_name = "PACK")]
    pub(crate) pack: String,
    /// Take it back: new versions may be published again
    #[arg(long, conflicts_with = "reason")]
    pub(crate) undo: bool,
    /// One line that users of the pack are shown
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) at: At,
}

/// How something is withdrawn, or given back.
#[derive(Clone, Debug, Args)]
pub(crate) struct Withdraw {
    /// Take it back: it may be used again
    #[arg(long, conflicts_with_all = ["reason", "replacement"])]
    pub(crate) undo: bool,
    /// One line that users of the pack are shown
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// What to use instead
    #[arg(long, value_name = "PACK")]
    pub(crate) replacement: Option<String>,
    #[command(flatten)]
    pub(crate) at: At,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Advisory {
    #[command(subcommand)]
    pub(crate) action: AdvisoryAction,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AdvisoryAction {
    /// Print the advisories of a pack, withdrawn ones too
    List {
        /// Name of the pack
        #[arg(value_name = "PACK")]
        pack: String,
        #[command(flatten)]
        at: At,
    },
    /// Warn everybody who uses certain versions of a pack, and let nobody newly choose them
    Publish(PublishAdvisory),
    /// Change what an advisory says; what is not given stays
    Change {
        #[command(flatten)]
        which: WhichAdvisory,
        #[command(flatten)]
        says: AdvisoryText,
    },
    /// Take an advisory back
    Withdraw(WhichAdvisory),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct PublishAdvisory {
    /// Name of the pack
    #[arg(value_name = "PACK")]
    pub(crate) pack: String,
    /// The id that it has elsewhere, such as CVE-2026-1234; the registry gives one when left out
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) says: AdvisoryText,
    #[command(flatten)]
    pub(crate) at: At,
}

/// One advisory of a pack.
#[derive(Clone, Debug, Args)]
pub(crate) struct WhichAdvisory {
    /// Name of the pack
    #[arg(value_name = "PACK")]
    pub(crate) pack: String,
    /// The advisory's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) at: At,
}

/// What an advisory says.
#[derive(Clone, Debug, Args)]
pub(crate) struct AdvisoryText {
    /// The versions that are affected, such as '<1.2.1' or '>=1.1, <1.2.1'
    #[arg(long, value_name = "REQ")]
    pub(crate) versions: Option<String>,
    /// How bad it is
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(crate) severity: Option<Severity>,
    /// One line that says what is wrong
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// The versions in which it is right again, such as '>=1.2.1'
    #[arg(long, value_name = "REQ")]
    pub(crate) patched: Option<String>,
    /// What those can do who stay with an affected version
    #[arg(long, value_name = "TEXT")]
    pub(crate) remedy: Option<String>,
    /// Where more stands
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

/// How bad a weakness is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Report {
    /// The pack, or one version of it: `neon@1.1.0`
    #[arg(value_name = "PACK[@VERSION]")]
    pub(crate) pack: String,
    /// What is wrong with it
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: ReportKind,
    /// What you saw
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) at: At,
}

/// What a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportKind {
    /// It does harm, or tries to
    Malicious,
    /// It pretends to be another pack or somebody else
    Impersonation,
    /// Its hardware model or its C is wrong
    Wrong,
    /// It may not be distributed
    Licence,
    /// Something else
    Other,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Owner {
    #[command(subcommand)]
    pub(crate) action: OwnerAction,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum OwnerAction {
    /// Print the logins of the owners, or the members of an organisation
    List(Owned),
    /// Let somebody publish and change the pack, or what is in the organisation's scope, too
    Add {
        #[command(flatten)]
        whom: Whom,
        /// Let them publish in the organisation's scope, and nothing else
        #[arg(long)]
        publisher: bool,
        #[command(flatten)]
        proof: Proof,
    },
    /// Let somebody do so no more
    Remove {
        #[command(flatten)]
        whom: Whom,
        #[command(flatten)]
        proof: Proof,
    },
    /// Make an organisation, whose members share the scope of its name
    Create(Owned),
}

/// What is owned.
#[derive(Clone, Debug, Args)]
pub(crate) struct Owned {
    /// Name of the pack, or `@NAME` of an organisation
    #[arg(value_name = "PACK")]
    pub(crate) pack: String,
    #[command(flatten)]
    pub(crate) at: At,
}

/// Somebody who may own it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Whom {
    #[command(flatten)]
    pub(crate) of: Owned,
    /// Their login at the registry
    #[arg(value_name = "LOGIN")]
    pub(crate) login: String,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Login {
    /// Your login at the registry; asked for when left out
    #[arg(value_name = "LOGIN")]
    pub(crate) login: Option<String>,
    /// Make the account first
    #[arg(long)]
    pub(crate) create: bool,
    /// The code of your second factor, or a recovery code, for accounts that have one; with --create the one-time code for the new
    /// account. Asked for when it is needed; without a terminal it may be the second line of standard input
    #[arg(long, value_name = "CODE", conflicts_with = "token", allow_hyphen_values = true)]
    pub(crate) code: Option<String>,
    /// Keep a token that was made elsewhere, which is read from standard input
    #[arg(long, conflicts_with_all = ["create", "login"])]
    pub(crate) token: bool,
    #[command(flatten)]
    pub(crate) at: At,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Logout {
    #[command(flatten)]
    pub(crate) at: At,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) action: TokenAction,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TokenAction {
    /// List your tokens and what they are for
    List {
        #[command(flatten)]
        at: At,
    },
    /// Make a token and print it, this once
    Create(CreateToken),
    /// Take a token back
    Revoke {
        /// Its id or its name
        #[arg(value_name = "TOKEN")]
        token: String,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CreateToken {
    /// What you know it by
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What it may do
    #[arg(long = "right", value_parser = rights(), value_name = "RIGHT", value_delimiter = ',', required = true)]
    pub(crate) rights: Vec<Right>,
    /// Names of the packs it is for, in which `*` stands for anything
    #[arg(long = "for", value_name = "PACKS", value_delimiter = ',', required = true)]
    pub(crate) packs: Vec<String>,
    /// How long it lasts
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    pub(crate) days: u32,
    #[command(flatten)]
    pub(crate) proof: Proof,
    #[command(flatten)]
    pub(crate) at: At,
}

/// Reads a right by its word in the protocol.
fn rights() -> impl TypedValueParser<Value = Right> {
    let words = Right::ALL.map(|right| PossibleValue::new(right.as_str()).help(right.meaning()));
    PossibleValuesParser::new(words).try_map(|word| Right::parse(&word).ok_or("no right"))
}
