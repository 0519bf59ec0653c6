//! `fstrial report`: a run of the store, shown again or written to files.

use store::Store;

use crate::arguments::Report;
use crate::documents::Documents;
use crate::exit::{Ended, Exit, Failure};

/// Shows it.
pub(crate) fn report(arguments: Report) -> Ended {
    let documents = Documents::new(&arguments.outputs)?;
    let path = arguments.store.path.unwrap_or_else(Store::default_path);
    let store = crate::files::open_store(&path)?;
    let run = store.run(&arguments.run).map_err(Failure::from(Exit::Store))?;
    documents.write(&run)?;
    Ok(Exit::Done)
}
