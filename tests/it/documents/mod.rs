//! Reading documents: the walls around what parses them, what is read and when, and what people set right.

mod attaching;
mod confinement;
mod foreign;
mod reading;
