//! std's channels: what is sent comes with all that the sender did before.

use crate::hidden::Hidden;
use crate::shared::Shared;
use crate::{both, pair, passing};
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};

pub fn mpsc_ok() {
    let (send, receive) = channel::<Box<u64>>();
    passing::boxes(
        move |n| send.send(n).unwrap(),
        move || receive.iter().map(|n| *n).sum(),
    );
}

pub fn mpsc_racy() {
    let (send, receive) = channel::<Arc<Shared<u64>>>();
    passing::kept(
        move |data| send.send(data).unwrap(),
        move || receive.recv().unwrap(),
    );
}

pub fn sync_channel_ok() {
    let (send, receive) = sync_channel::<Vec<u64>>(2);
    both(
        move || (0..100).for_each(|n| send.send(vec![n; 4]).unwrap()),
        move || assert_eq!(receive.iter().map(|n| n[3]).sum::<u64>(), 4950),
    );
}

pub fn sync_channel_racy() {
    let (send, receive) = sync_channel::<Arc<Shared<u64>>>(2);
    passing::kept(
        move |data| send.send(data).unwrap(),
        move || receive.recv().unwrap(),
    );
}

/// A channel without room: sending waits for receiving, so there is an order both ways.
pub fn rendezvous_ok() {
    let (send, receive) = sync_channel::<()>(0);
    let data = Arc::new(Shared::new(0));
    let other = data.clone();
    both(
        move || {
            for n in 0..50 {
                data.set(n);
                send.send(()).unwrap();
                send.send(()).unwrap();
            }
        },
        move || {
            for n in 0..50 {
                receive.recv().unwrap();
                assert_eq!(other.get(), n);
                receive.recv().unwrap();
            }
        },
    );
}

pub fn rendezvous_racy() {
    static ORDER: Hidden = Hidden::new();
    let (send, receive) = sync_channel::<()>(0);
    let data = Arc::new(Shared::new(0));
    let other = data.clone();
    both(
        move || {
            send.send(()).unwrap();
            ORDER.await_count(1);
            data.set(1);
            ORDER.come();
        },
        move || {
            receive.recv().unwrap();
            other.set(2);
            ORDER.come();
            ORDER.await_count(2);
        },
    );
}

pair! {
    mpsc: mpsc_ok, mpsc_racy;
    sync_channel: sync_channel_ok, sync_channel_racy;
    rendezvous: rendezvous_ok, rendezvous_racy;
}
