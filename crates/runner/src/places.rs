//! Where a session's inputs and testbeds come from.

use std::path::PathBuf;

use testbed::Testbed;
use trial::InputFiles;
use workload::{InputFacts, InputKind, Space};

use crate::{Request, SessionError, TestbedRequest};

/// Where inputs and testbeds come from. The command line has the real ones.
pub trait Places {
    /// Opens the inputs of these kinds, making them first where they can be made.
    ///
    /// # Errors
    /// When one is missing, damaged, or not to be had.
    fn inputs(&self, request: &Request, kinds: &[InputKind]) -> Result<Inputs, SessionError>;

    /// Whether the testbed makes filesystems on devices, which then need a size. Directories are
    /// used as they are.
    ///
    /// # Errors
    /// When there is no such testbed, or its settings are not what it knows.
    fn makes_filesystems(&self, request: &TestbedRequest) -> Result<bool, SessionError>;

    /// The testbed as it was stored with a run that is resumed; the contents of `devices` may be
    /// destroyed beside those it was begun with.
    ///
    /// # Errors
    /// As [`Places::makes_filesystems`].
    fn resumed(
        &self,
        stored: &TestbedRequest,
        devices: &[PathBuf],
    ) -> Result<TestbedRequest, SessionError>;

    /// Opens the testbed that is asked for. `room` is what the largest trial writes.
    ///
    /// # Errors
    /// When it does not exist, or refuses.
    fn testbed(
        &self,
        request: &TestbedRequest,
        inputs: InputFiles,
        room: Space,
    ) -> Result<Box<dyn Testbed>, SessionError>;
}

/// Inputs, opened.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Where they are.
    pub files: InputFiles,
    /// What the plan needs to know of them.
    pub facts: InputFacts,
    /// What sets the user's own program apart from another behind the same words; empty without.
    pub program: String,
}
