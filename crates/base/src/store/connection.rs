//! A connection to the database, and the seat of the workspace that it is used for. A request of a workspace takes a seat
//! first, so that one workspace whose statements wait (for a lock, or a disk) does not hold all connections of a node.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Postgres};

use crate::limits::fair_seats::FairSeat;

pub struct DatabaseConnection {
    // Dropped before the seat is.
    conn: PoolConnection<Postgres>,
    _seat: Option<FairSeat>,
}

impl DatabaseConnection {
    pub fn new(conn: PoolConnection<Postgres>, seat: Option<FairSeat>) -> Self {
        Self { conn, _seat: seat }
    }

    /// The same, in the seat of the workspace that it turned out to be for.
    pub fn seated(self, seat: FairSeat) -> Self {
        Self { _seat: Some(seat), ..self }
    }

    /// It does not go back to its pool.
    pub fn close_on_drop(&mut self) {
        self.conn.close_on_drop();
    }
}

impl From<PoolConnection<Postgres>> for DatabaseConnection {
    fn from(conn: PoolConnection<Postgres>) -> Self {
        Self::new(conn, None)
    }
}

impl Deref for DatabaseConnection {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        &self.conn
    }
}

impl DerefMut for DatabaseConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.conn
    }
}
