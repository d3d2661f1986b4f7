//! What all channels have in common, whoever made them: what is sent comes with all that the sender did before, and with
//! nothing that it does afterwards.

use crate::both;
use crate::hidden::Hidden;
use crate::shared::Shared;
use std::sync::Arc;

/// Passes two hundred boxes; `sum` adds up what is in them until the sender is gone.
pub fn boxes(send: impl FnMut(Box<u64>) + Send, sum: impl FnOnce() -> u64 + Send) {
    both(
        move || (0..200).map(Box::new).for_each(send),
        move || assert_eq!(sum(), 19900),
    );
}

/// The sender keeps a hand on what it sent.
pub fn kept(
    send: impl FnOnce(Arc<Shared<u64>>) + Send,
    receive: impl FnOnce() -> Arc<Shared<u64>> + Send,
) {
    let order = &Hidden::new();
    both(
        move || {
            let data = Arc::new(Shared::new(0));
            send(data.clone());
            order.await_count(1);
            data.set(1);
            order.come();
        },
        move || {
            let data = receive();
            data.set(2);
            order.come();
            order.await_count(2); // what is dropped here is dropped later
        },
    );
}
