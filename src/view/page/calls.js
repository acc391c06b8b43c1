// SPDX-License-Identifier: Apache-2.0
// The calls of a recording as trees: all of it, a phase of it, or the callers and callees of one
// function.
(function (page) {
    'use strict';
    page.GROUPS = ['your code', 'PyTorch', 'packages', 'standard library', 'native code', 'on the device', 'folded'];

    page.readCalls = function (tree) {
        const parts = tree.parts.length, width = 3 + parts, calls = [], functions = [];
        for (let at = 0; at < tree.functions.length; at += 4) {
            const [name, file, line, group] = tree.functions.slice(at, at + 4);
            functions.push({name, file, group, place: file + (file && line > 0 ? `:${line}` : ''), line});
        }
        for (let at = 0; at < tree.calls.length; at += width) {
            const [parent, f, folded] = tree.calls.slice(at, at + 3);
            calls.push({parent, f, folded, parts: tree.calls.slice(at + 3, at + width), self: 0, total: 0});
        }
        return {unit: tree.unit, parts: tree.parts, functions, calls};
    };

    // What counts: a function from the weights of the parts to one weight.
    page.weigh = function (tree, choose) {
        for (const call of tree.calls) {
            call.self = choose(call.parts);
            call.total = call.self;
        }
        for (let i = tree.calls.length - 1; i > 0; i--) {
            tree.calls[tree.calls[i].parent].total += tree.calls[i].total;
        }
        tree.callees = tree.calls.map(() => []);
        for (let i = 1; i < tree.calls.length; i++) {
            if (tree.calls[i].total > 0) {
                tree.callees[tree.calls[i].parent].push(i);
            }
        }
    };

    function node(f, parent) {
        return {f, parent, folded: 0, self: 0, total: 0, kids: [], byFunction: new Map(), depth: parent ? parent.depth + 1 : 0};
    }

    function kidOf(parent, f) {
        let kid = parent.byFunction.get(f);
        if (!kid) {
            kid = node(f, parent);
            parent.byFunction.set(f, kid);
            parent.kids.push(kid);
        }
        return kid;
    }

    function sortKids(root) {
        const open = [root];
        while (open.length) {
            const next = open.pop();
            next.kids.sort((a, b) => b.total - a.total || a.f - b.f);
            open.push(...next.kids);
        }
        return root;
    }

    // Adds what a call calls below a node: equal functions become one.
    function addCallees(tree, into, i) {
        const open = [[into, i]];
        while (open.length) {
            const [target, call] = open.pop();
            target.self += tree.calls[call].self;
            for (const callee of tree.callees[call]) {
                const kid = kidOf(target, tree.calls[callee].f);
                kid.total += tree.calls[callee].total;
                kid.folded += tree.calls[callee].folded;
                open.push([kid, callee]);
            }
        }
    }

    page.wholeTree = function (tree) {
        const root = node(0, null);
        root.total = tree.calls[0].total;
        addCallees(tree, root, 0);
        return sortKids(root);
    };

    // The outermost calls of a function: the ones inside them are counted there.
    function callsOf(tree, f) {
        const inside = new Uint8Array(tree.calls.length), found = [];
        for (let i = 1; i < tree.calls.length; i++) {
            const call = tree.calls[i], isOne = call.f === f && f !== 0;
            if (isOne && !inside[call.parent] && call.total > 0) {
                found.push(i);
            }
            inside[i] = isOne || inside[call.parent] ? 1 : 0;
        }
        return found;
    }

    page.calleesOf = function (tree, f) {
        const root = node(f, null);
        for (const i of callsOf(tree, f)) {
            root.total += tree.calls[i].total;
            addCallees(tree, root, i);
        }
        return sortKids(root);
    };

    page.callersOf = function (tree, f) {
        const root = node(f, null);
        for (const i of callsOf(tree, f)) {
            let at = root;
            root.total += tree.calls[i].total;
            for (let up = tree.calls[i].parent; up > 0; up = tree.calls[up].parent) {
                at = kidOf(at, tree.calls[up].f);
                at.total += tree.calls[i].total;
            }
        }
        return sortKids(root);
    };

    // By function: what it weighs itself, and with what it calls.
    page.functionTotals = function (tree) {
        const rows = tree.functions.map((_, f) => ({f, self: 0, total: 0}));
        const open = new Uint32Array(tree.functions.length);
        const walk = [[0, false]];
        while (walk.length) {
            const [i, isLeaving] = walk.pop(), call = tree.calls[i];
            if (isLeaving) {
                open[call.f]--;
                continue;
            }
            rows[call.f].self += call.self;
            rows[call.f].total += open[call.f] === 0 ? call.total : 0;
            open[call.f]++;
            walk.push([i, true], ...tree.callees[i].map((callee) => [callee, false]));
        }
        return rows.slice(1).filter((row) => row.total > 0);
    };
})(window.stepscope);
