//! Builds anew when a migration changes: the schema is embedded in the binary.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
