//! A new migration builds this crate again: `sqlx::migrate!` does not say by itself what it reads.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
