//! What people use beside std, each with the order that it promises.

use crate::hidden::Hidden;
use crate::shared::Shared;
use crate::{both, pair, passing};
use rayon::prelude::*;
use std::sync::Arc;
use std::thread;

pub fn rayon_ok() {
    let squares: Vec<u64> = (0..2000_u64).into_par_iter().map(|n| n * n).collect();
    assert_eq!(squares.par_iter().sum::<u64>(), 2_664_667_000);
    let mut list: Vec<u64> = (0..2000).rev().collect();
    list.par_sort_unstable();
    assert_eq!(list[7], 7);
}

pub fn rayon_racy() {
    static ORDER: Hidden = Hidden::new();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let data = Shared::new(0);
    pool.broadcast(|_| {
        ORDER.come();
        ORDER.await_count(2);
        data.set(1);
    });
}

pub fn rayon_join_ok() {
    let (left, right) = (Shared::new(0), Shared::new(0));
    for n in 0..100 {
        rayon::join(|| left.set(n), || right.set(n));
        assert_eq!((left.get(), right.get()), (n, n));
    }
}

pub fn rayon_join_racy() {
    static ORDER: Hidden = Hidden::new();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let data = Shared::new(0);
    let half = || {
        ORDER.come();
        ORDER.await_count(2);
        data.set(1);
    };
    pool.install(|| rayon::join(half, half));
}

pub fn crossbeam_channel_ok() {
    let (send, receive) = crossbeam_channel::bounded::<Box<u64>>(4);
    passing::boxes(
        move |n| send.send(n).unwrap(),
        move || receive.iter().map(|n| *n).sum(),
    );
}

pub fn crossbeam_channel_racy() {
    let (send, receive) = crossbeam_channel::unbounded::<Arc<Shared<u64>>>();
    passing::kept(
        move |data| send.send(data).unwrap(),
        move || receive.recv().unwrap(),
    );
}

/// Nothing is pushed while a thief may read: that race is the crate's own, as its source says.
pub fn crossbeam_deque_ok() {
    let own = crossbeam_deque::Worker::new_fifo();
    let thief = own.stealer();
    for n in 0..500_u64 {
        own.push(Box::new(n));
    }
    let child = thread::spawn(move || {
        let mut sum = 0_u64;
        for _ in 0..2000 {
            if let crossbeam_deque::Steal::<Box<u64>>::Success(found) = thief.steal() {
                sum += *found;
            }
        }
        sum
    });
    let mut sum = 0;
    for _ in 0..166 {
        sum += own.pop().map_or(0, |found| *found);
    }
    let stolen = child.join().unwrap();
    while let Some(found) = own.pop() {
        sum += *found;
    }
    assert_eq!(sum + stolen, 124_750);
}

pub fn crossbeam_deque_racy() {
    let own = crossbeam_deque::Worker::new_lifo();
    let thief = own.stealer();
    let data = Arc::new(Shared::new(0));
    own.push(data.clone());
    let child = thread::spawn(move || {
        let found: crossbeam_deque::Steal<Arc<Shared<u64>>> = thief.steal();
        found.success().unwrap().set(1);
    });
    data.set(2);
    child.join().unwrap();
}

pub fn crossbeam_epoch_ok() {
    use crossbeam_epoch::{Atomic, Owned, pin};
    use std::sync::atomic::Ordering::{Acquire, Release};
    let place: Arc<Atomic<u64>> = Arc::new(Atomic::new(0));
    let work = |place: Arc<Atomic<u64>>| {
        move || {
            for n in 0..200 {
                let guard = pin();
                let old = place.swap(Owned::new(n), std::sync::atomic::Ordering::AcqRel, &guard);
                // SAFETY: not null, and taken out by nobody else; freed when all guards of today are gone.
                unsafe {
                    assert!(*old.deref() < 200);
                    guard.defer_destroy(old);
                }
                let now = place.load(Acquire, &guard);
                // SAFETY: not null, and protected by the guard.
                assert!(*unsafe { now.deref() } < 200);
            }
            place.store(Owned::new(0), Release);
        }
    };
    both(work(place.clone()), work(place));
}

/// Without a guard nothing keeps the value alive.
pub fn crossbeam_epoch_racy() {
    use crossbeam_epoch::{Atomic, Owned, Shared as Pointer};
    use std::sync::atomic::Ordering::{AcqRel, Acquire};
    static ORDER: Hidden = Hidden::new();
    let place: Arc<Atomic<u64>> = Arc::new(Atomic::new(1));
    let other = place.clone();
    both(
        move || {
            // SAFETY: the value is there until the other one comes.
            let guard = unsafe { crossbeam_epoch::unprotected() };
            let found: Pointer<'_, u64> = place.load(Acquire, guard);
            // SAFETY: as above.
            std::hint::black_box(*unsafe { found.deref() });
            ORDER.come();
        },
        move || {
            ORDER.await_count(1);
            // SAFETY: nobody else is there, as nobody but the test knows.
            let guard = unsafe { crossbeam_epoch::unprotected() };
            let old = other.swap(Owned::new(2), AcqRel, guard);
            // SAFETY: as above.
            drop(unsafe { old.into_owned() });
        },
    );
}

pub fn crossbeam_utils_ok() {
    let group = crossbeam_utils::sync::WaitGroup::new();
    let data = Arc::new([Shared::new(0), Shared::new(0)]);
    for n in 0..2 {
        let (group, data) = (group.clone(), data.clone());
        thread::spawn(move || {
            data[n].set(1);
            drop(group);
        });
    }
    group.wait();
    assert_eq!(data[0].get() + data[1].get(), 2);
}

pub fn crossbeam_utils_racy() {
    let parker = crossbeam_utils::sync::Parker::new();
    let waker = parker.unparker().clone();
    let data = Arc::new(Shared::new(0));
    let other = data.clone();
    both(
        move || {
            waker.unpark();
            data.set(1);
        },
        move || {
            parker.park();
            other.set(2);
        },
    );
}

pub fn parking_lot_ok() {
    let data = Arc::new((parking_lot::Mutex::new(()), Shared::new(0)));
    let work = |data: Arc<(parking_lot::Mutex<()>, Shared<u64>)>| {
        move || {
            for _ in 0..200 {
                let _held = data.0.lock();
                data.1.set(data.1.get() + 1);
            }
        }
    };
    both(work(data.clone()), work(data.clone()));
    assert_eq!(data.1.get(), 400);
}

pub fn parking_lot_racy() {
    let data = Arc::new((parking_lot::Mutex::new(()), Shared::new(0)));
    let (a, b) = (data.clone(), data);
    both(
        move || {
            let _held = a.0.lock();
            a.1.set(1);
        },
        move || b.1.set(2),
    );
}

pub fn parking_lot_rwlock_ok() {
    let data = Arc::new((parking_lot::RwLock::new(()), Shared::new(0)));
    let other = data.clone();
    both(
        move || {
            for n in 0..200 {
                let _held = data.0.write();
                data.1.set(n);
            }
        },
        move || {
            for _ in 0..200 {
                let held = other.0.upgradable_read();
                other.1.get();
                drop(held);
            }
        },
    );
}

pub fn parking_lot_rwlock_racy() {
    static ORDER: Hidden = Hidden::new();
    let data = Arc::new((parking_lot::RwLock::new(()), Shared::new(0)));
    let work = |data: Arc<(parking_lot::RwLock<()>, Shared<u64>)>| {
        move || {
            let _held = data.0.read();
            ORDER.come();
            ORDER.await_count(2);
            data.1.set(1);
        }
    };
    both(work(data.clone()), work(data));
}

pub fn parking_lot_condvar_ok() {
    let data = Arc::new((
        parking_lot::Mutex::new(false),
        parking_lot::Condvar::new(),
        Shared::new(0),
    ));
    let other = data.clone();
    both(
        move || {
            data.2.set(7);
            *data.0.lock() = true;
            data.1.notify_one();
        },
        move || {
            let mut ready = other.0.lock();
            while !*ready {
                other.1.wait(&mut ready);
            }
            assert_eq!(other.2.get(), 7);
        },
    );
}

pub fn parking_lot_condvar_racy() {
    static ORDER: Hidden = Hidden::new();
    let data = Arc::new((
        parking_lot::Mutex::new(false),
        parking_lot::Condvar::new(),
        Shared::new(0),
    ));
    let other = data.clone();
    both(
        move || {
            *data.0.lock() = true;
            data.1.notify_one();
            ORDER.await_count(1);
            data.2.set(7);
        },
        move || {
            let mut ready = other.0.lock();
            while !*ready {
                other.1.wait(&mut ready);
            }
            other.2.get();
            ORDER.come();
        },
    );
}

pub fn dashmap_ok() {
    let map = Arc::new(dashmap::DashMap::new());
    let work = |map: Arc<dashmap::DashMap<u64, Vec<u64>>>, own: u64| {
        move || {
            for n in 0..100 {
                map.entry(n % 10).or_default().push(own);
            }
        }
    };
    both(work(map.clone(), 1), work(map.clone(), 2));
    assert_eq!(map.iter().map(|entry| entry.len()).sum::<usize>(), 200);
}

/// A pointer into the map is used after its guard is gone.
pub fn dashmap_racy() {
    let map = dashmap::DashMap::new();
    map.insert(1, 0_u64);
    let place = map.get(&1).map(|entry| &raw const *entry as usize).unwrap();
    let map = Arc::new(map);
    both(
        move || *map.get_mut(&1).unwrap() = 1,
        // SAFETY: the entry stays where it is, since nobody adds another; in no order, which is the point.
        move || unsafe { (place as *mut u64).write(2) },
    );
}

pub fn flume_ok() {
    let (send, receive) = flume::bounded::<Box<u64>>(3);
    passing::boxes(
        move |n| send.send(n).unwrap(),
        move || receive.iter().map(|n| *n).sum(),
    );
}

pub fn flume_racy() {
    let (send, receive) = flume::unbounded::<Arc<Shared<u64>>>();
    passing::kept(
        move |data| send.send(data).unwrap(),
        move || receive.recv().unwrap(),
    );
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
}

pub fn tokio_tasks_ok() {
    runtime().block_on(async {
        let (send, mut receive) = tokio::sync::mpsc::channel::<Box<u64>>(4);
        let producer = tokio::spawn(async move {
            for n in 0..100 {
                send.send(Box::new(n)).await.unwrap();
            }
        });
        let mut sum = 0;
        while let Some(n) = receive.recv().await {
            sum += *n;
        }
        producer.await.unwrap();
        assert_eq!(sum, 4950);
        let (tell, told) = tokio::sync::oneshot::channel();
        tokio::spawn(async move { tell.send(vec![1, 2, 3]).unwrap() });
        assert_eq!(told.await.unwrap().len(), 3);
    });
}

pub fn tokio_tasks_racy() {
    static ORDER: Hidden = Hidden::new();
    let data = Arc::new(Shared::new(0));
    // A worker that waits hands the tasks in its queue to another one, the second of these among them.
    let work = |data: Arc<Shared<u64>>| async move {
        tokio::task::block_in_place(|| {
            ORDER.come();
            ORDER.await_count(2);
            data.set(1);
        });
    };
    runtime().block_on(async {
        let (a, b) = (tokio::spawn(work(data.clone())), tokio::spawn(work(data)));
        a.await.unwrap();
        b.await.unwrap();
    });
}

pub fn tokio_sync_ok() {
    runtime().block_on(async {
        let data = Arc::new((tokio::sync::Mutex::new(()), Shared::new(0_u64)));
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let data = data.clone();
                tokio::spawn(async move {
                    for _ in 0..50 {
                        let _held = data.0.lock().await;
                        data.1.set(data.1.get() + 1);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(data.1.get(), 200);
        let notify = Arc::new((tokio::sync::Notify::new(), Shared::new(0)));
        let other = notify.clone();
        let waiter = tokio::spawn(async move {
            other.0.notified().await;
            assert_eq!(other.1.get(), 7);
        });
        notify.1.set(7);
        notify.0.notify_one();
        waiter.await.unwrap();
        let value = tokio::task::spawn_blocking(|| vec![1, 2]).await.unwrap();
        assert_eq!(value.len(), 2);
    });
}

pub fn tokio_sync_racy() {
    static ORDER: Hidden = Hidden::new();
    runtime().block_on(async {
        let data = Arc::new((tokio::sync::Notify::new(), Shared::new(0)));
        let other = data.clone();
        let waiter = tokio::task::spawn_blocking(move || {
            other.1.set(1);
            ORDER.come();
        });
        ORDER.await_count(1);
        data.1.set(7);
        data.0.notify_one();
        waiter.await.unwrap();
    });
}

pair! {
    rayon: rayon_ok, rayon_racy;
    rayon_join: rayon_join_ok, rayon_join_racy;
    crossbeam_channel: crossbeam_channel_ok, crossbeam_channel_racy;
    crossbeam_deque: crossbeam_deque_ok, crossbeam_deque_racy;
    crossbeam_epoch: crossbeam_epoch_ok, crossbeam_epoch_racy;
    crossbeam_utils: crossbeam_utils_ok, crossbeam_utils_racy;
    parking_lot: parking_lot_ok, parking_lot_racy;
    parking_lot_rwlock: parking_lot_rwlock_ok, parking_lot_rwlock_racy;
    parking_lot_condvar: parking_lot_condvar_ok, parking_lot_condvar_racy;
    dashmap: dashmap_ok, dashmap_racy;
    flume: flume_ok, flume_racy;
    tokio_tasks: tokio_tasks_ok, tokio_tasks_racy;
    tokio_sync: tokio_sync_ok, tokio_sync_racy;
}
