//! One raw finding of each kind, made of the bank's labels.

use super::Built;
use serde_json::{Value, json};

fn access(
    b: &Built,
    op: &str,
    thread: u64,
    address: u64,
    stack: &[&str],
    locks: Vec<Value>,
) -> Value {
    json!({"op": op, "atomic": false, "size": 8, "addr": address, "thread": thread,
           "stack": b.stack(stack), "locks": locks})
}

fn race(accesses: [Value; 2], memory: Value) -> Value {
    json!({"kind": "data-race", "accesses": accesses, "memory": memory})
}

fn balance(b: &Built) -> u64 {
    b.at("accounts") + 2 * 56 + 8
}

fn global(address: u64) -> Value {
    json!({"kind": "global", "addr": address})
}

fn moment(b: &Built, thread: u64, what: &str, object: u64, name: &str, stack: &[&str]) -> Value {
    json!({"thread": thread, "at": 0, "what": what, "object": object, "addr": b.at(name),
           "stack": b.stack(stack)})
}

/// Name of the golden file and the finding.
pub fn all(b: &Built) -> Vec<(&'static str, Value)> {
    let mut out = races(b);
    out.extend(locks(b));
    out.extend(others(b));
    out
}

fn races(b: &Built) -> Vec<(&'static str, Value)> {
    let total = b.at("total");
    let books = |spots: &[&str]| b.lock(7, "books", spots);
    let vault = |spots: &[&str]| b.lock(8, "vault", spots);
    let heap = json!({"kind": "heap", "start": 0x7f00_0000_1000_u64, "size": 64, "thread": 0,
                      "addr": 0x7f00_0000_1008_u64, "stack": b.stack(&["open_book", "main_open_book"])});
    let mut freed = heap.clone();
    freed["freed"] = json!({"thread": 0, "stack": b.stack(&["free_book"])});
    let block = 0x7f00_0000_1008;
    let mut late_unlock = race(
        [
            access(
                b,
                "read",
                2,
                total,
                &["add_total", "call_add", "teller_deposit"],
                vec![],
            ),
            access(
                b,
                "write",
                1,
                total,
                &["add_total", "call_add", "teller_deposit"],
                vec![],
            ),
        ],
        global(total),
    );
    late_unlock["timeline"] = json!([
        {"thread": 0, "at": 0, "what": "create", "object": 1, "stack": b.stack(&["create_one"])},
        {"thread": 1, "at": 1, "what": "start", "object": 0, "stack": []},
        moment(b, 1, "lock", 7, "books", &["lock_books", "teller_deposit"]),
        moment(b, 1, "unlock", 7, "books", &["unlock_books", "teller_deposit"]),
        {"thread": 1, "at": 4, "what": "access", "access": 1},
        moment(b, 2, "lock", 7, "books", &["lock_books", "teller_deposit"]),
        moment(b, 2, "unlock", 7, "books", &["unlock_books", "teller_deposit"]),
        {"thread": 2, "at": 7, "what": "access", "access": 0},
    ]);
    let mut joined_later = race(
        [
            access(
                b,
                "read",
                0,
                balance(b),
                &["audit_balance", "main_audit"],
                vec![],
            ),
            access(
                b,
                "write",
                1,
                balance(b),
                &["deposit_balance", "teller_deposit"],
                vec![],
            ),
        ],
        global(balance(b)),
    );
    joined_later["timeline"] = json!([
        {"thread": 0, "at": 1, "what": "create", "object": 1, "stack": b.stack(&["create_one"])},
        {"thread": 1, "at": 2, "what": "start", "object": 0, "stack": []},
        {"thread": 1, "at": 3, "what": "access", "access": 1},
        {"thread": 0, "at": 4, "what": "access", "access": 0},
        {"thread": 1, "at": 5, "what": "exit", "object": 0, "stack": []},
        {"thread": 0, "at": 6, "what": "join", "object": 1, "stack": b.stack(&["join_one"])},
    ]);
    let mut atomic = race(
        [
            access(b, "read", 0, total, &["main_audit"], vec![]),
            access(
                b,
                "read-write",
                1,
                total,
                &["add_total", "call_add", "teller_deposit"],
                vec![],
            ),
        ],
        global(total),
    );
    atomic["accesses"][1]["atomic"] = json!(true);
    let mut reading = race(
        [
            access(
                b,
                "write",
                2,
                total,
                &["add_total", "call_add", "teller_deposit"],
                vec![b.lock(9, "rates", &["lock_books", "teller_deposit"])],
            ),
            access(
                b,
                "read",
                0,
                total,
                &["main_audit"],
                vec![b.lock(9, "rates", &["lock_books"])],
            ),
        ],
        global(total),
    );
    for side in 0..2 {
        reading["accesses"][side]["locks"][0]["type"] = json!("rwlock");
        reading["accesses"][side]["locks"][0]["mode"] = json!("read");
    }
    vec![
        (
            "data-race-one-lock",
            race(
                [
                    access(
                        b,
                        "read",
                        0,
                        balance(b),
                        &["audit_balance", "main_audit"],
                        vec![],
                    ),
                    access(
                        b,
                        "write",
                        1,
                        balance(b),
                        &["deposit_balance", "teller_deposit"],
                        vec![books(&["lock_books", "teller_deposit"])],
                    ),
                ],
                global(balance(b)),
            ),
        ),
        (
            "data-race-two-locks",
            race(
                [
                    access(
                        b,
                        "write",
                        1,
                        total,
                        &["add_total", "call_add", "teller_deposit"],
                        vec![books(&["lock_books", "teller_deposit"])],
                    ),
                    access(
                        b,
                        "write",
                        2,
                        total,
                        &["calls", "call_add", "teller_deposit"],
                        vec![vault(&["transfer_vault", "teller_transfer"])],
                    ),
                ],
                global(total),
            ),
        ),
        ("data-race-released-too-early", late_unlock),
        ("data-race-joined-later", joined_later),
        ("data-race-atomic", atomic),
        ("data-race-read-lock", reading),
        (
            "data-race-heap",
            race(
                [
                    access(b, "write", 1, block, &["teller_book"], vec![]),
                    access(b, "write", 2, block, &["teller_book"], vec![]),
                ],
                heap,
            ),
        ),
        (
            "data-race-stack",
            race(
                [
                    access(b, "write", 1, 0x7ffc_0000_0010, &["teller_book"], vec![]),
                    access(b, "read", 0, 0x7ffc_0000_0010, &["main_audit"], vec![]),
                ],
                json!({"kind": "stack", "thread": 0, "addr": 0x7ffc_0000_0010_u64,
                   "start": 0x7ffc_0000_0000_u64, "end": 0x7ffc_0010_0000_u64}),
            ),
        ),
        (
            "use-after-free",
            json!({"kind": "use-after-free",
            "accesses": [
                access(b, "free", 0, block, &["free_book"], vec![]),
                access(b, "write", 1, block, &["teller_book"], vec![])],
            "memory": freed}),
        ),
    ]
}

fn about(b: &Built, names: &[(u64, &str, &str)]) -> Value {
    names
        .iter()
        .map(
            |(id, name, kind)| json!({"lock": id, "addr": b.at(name), "type": kind, "created": []}),
        )
        .collect()
}

fn entry(b: &Built, label: &str, thread: u64, stack: &[&str]) -> Value {
    json!({"label": label, "thread": thread, "stack": b.stack(stack)})
}

/// Labels and their order as the runtime writes them: first what found it, then what explains it.
fn locks(b: &Built) -> Vec<(&'static str, Value)> {
    let two = [(7, "books", "mutex"), (8, "vault", "mutex")];
    let one = [(7, "books", "mutex")];
    let simple = |kind: &str, stacks: Vec<Value>, names: &[(u64, &str, &str)], text: &str| json!({"kind": kind, "locks": about(b, names), "stacks": stacks, "text": text});
    let books = || entry(b, "locked here", 2, &["transfer_books", "teller_transfer"]);
    let unlock = || entry(b, "unlocked here", 1, &["inspect_unlock", "teller_inspect"]);
    let used = || entry(b, "used here", 1, &["lock_books", "teller_deposit"]);
    let destroyed = || entry(b, "destroyed here", 0, &["destroy_books"]);
    let cycle = vec![
        entry(b, "took M7", 1, &["transfer_books", "teller_transfer"]),
        entry(
            b,
            "took M8 while holding M7",
            1,
            &["transfer_vault", "teller_transfer"],
        ),
        entry(b, "took M8", 2, &["inspect_vault", "teller_inspect"]),
        entry(
            b,
            "took M7 while holding M8",
            2,
            &["inspect_books", "teller_inspect"],
        ),
    ];
    let stuck = vec![
        entry(b, "waits for M8", 1, &["transfer_vault", "teller_transfer"]),
        entry(b, "holds M8", 2, &["inspect_vault", "teller_inspect"]),
        entry(b, "waits for M7", 2, &["inspect_books", "teller_inspect"]),
        entry(b, "holds M7", 1, &["transfer_books", "teller_transfer"]),
    ];
    let again = vec![
        entry(
            b,
            "locked again here",
            1,
            &["inspect_books", "teller_inspect"],
        ),
        entry(
            b,
            "locked here before",
            1,
            &["transfer_books", "teller_transfer"],
        ),
    ];
    let foreign = vec![
        unlock(),
        entry(
            b,
            "locked here by another thread",
            2,
            &["transfer_books", "teller_transfer"],
        ),
    ];
    let waited = vec![entry(b, "waited here", 1, &["wait_paid"])];
    let rates = vec![entry(b, "unlocked here", 1, &["unlock_rates"])];
    let cond = [(10, "paid", "cond"), (7, "books", "mutex")];
    let mut out = Vec::new();
    for (kind, stacks, names, text) in [
        (
            "lock-order-inversion",
            cycle,
            two.as_slice(),
            "each thread takes its second lock",
        ),
        (
            "deadlock",
            stuck,
            two.as_slice(),
            "every one of these threads waits",
        ),
        (
            "double-lock",
            again,
            one.as_slice(),
            "the thread holds the lock already",
        ),
        (
            "unlock-not-held",
            vec![unlock()],
            one.as_slice(),
            "nobody holds the lock that is unlocked",
        ),
        ("unlock-wrong-thread", foreign, one.as_slice(), ""),
        (
            "destroy-locked",
            vec![destroyed(), books()],
            one.as_slice(),
            "the lock is destroyed while it is held",
        ),
        ("use-before-init", vec![used()], one.as_slice(), ""),
        (
            "use-after-destroy",
            vec![used(), destroyed()],
            one.as_slice(),
            "",
        ),
        (
            "rwlock-mismatch",
            rates,
            [(9, "rates", "rwlock")].as_slice(),
            "a read lock is released by a write unlock",
        ),
        (
            "cond-wrong-mutex",
            waited,
            cond.as_slice(),
            "the mutex is not held by the waiting thread",
        ),
    ] {
        out.push((kind, simple(kind, stacks, names, text)));
    }
    out
}

fn others(b: &Built) -> Vec<(&'static str, Value)> {
    let mut signal = json!({"kind": "signal-unsafe", "threads": [0],
        "text": "malloc is not async-signal-safe"});
    signal["stacks"] = json!([entry(
        b,
        "called here, inside a handler",
        0,
        &["handler_malloc"]
    )]);
    let mut leak = json!({"kind": "thread-leak", "threads": [2], "text": "the thread was neither joined nor detached"});
    leak["stacks"] = json!([entry(b, "created here", 2, &["create_two"])]);
    let mut free = json!({"kind": "invalid-free",
        "memory": {"kind": "heap", "addr": 0x7f00_0000_1008_u64, "start": 0x7f00_0000_1000_u64, "size": 64,
                   "thread": 0, "stack": b.stack(&["open_book", "main_open_book"])}});
    free["stacks"] = json!([entry(
        b,
        "freed by an address inside the block",
        0,
        &["free_book"]
    )]);
    vec![
        ("thread-leak", leak),
        ("signal-unsafe", signal),
        ("invalid-free", free),
    ]
}
