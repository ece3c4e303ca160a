//! Several cells behind one address: a request or a page goes to the cell of its workspace, whichever node it reaches.
//! `front` decides, `whose` says whose a request is, `forward` sends it on to a node that serves the cell, `owed` counts what
//! such nodes have not answered.
//!
//! A node that is not in a fleet has none of this in front of its routes.

mod forward;
mod front;
mod owed;
mod whose;

pub use front::router;
