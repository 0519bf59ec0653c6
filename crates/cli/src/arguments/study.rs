//! The arguments of `fstrial study`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct StudyArguments {
    #[command(subcommand)]
    pub(crate) action: StudyAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudyAction {
    /// Show the studies that ship with fstrial
    List,
    /// Show a study: question, machine, matrix, published tables, claims
    Show(NamedStudy),
    /// Read a study's files and tell everything that is wrong with them
    Check(NamedStudy),
}

#[derive(Debug, Args)]
pub(crate) struct NamedStudy {
    /// A name of `study list`, or the path of a folder with study.toml, published.toml and
    /// claims.toml
    #[arg(value_name = "STUDY")]
    pub(crate) study: String,
}
