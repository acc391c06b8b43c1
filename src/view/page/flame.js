// SPDX-License-Identifier: Apache-2.0
// The flame graph of a page: zoom, search, a phase, callers and callees of a function.
(function (page) {
    'use strict';
    const {el} = page;
    const ROW = 19, LEAST = 0.4, TABLE_ROWS = 40;
    const HUES = [[28, 80], [212, 65], [268, 50], [140, 38], [220, 8], [182, 55], [220, 5]];

    // ---- texts ----

    function nameOf(state, node) {
        if (node.folded && node.f === 0) {
            return `…(${page.count(node.folded)} calls)`;
        }
        return node.f === 0 ? 'all' : state.tree.functions[node.f].name;
    }

    const placeOf = (state, node) => node.f === 0 ? '' : state.tree.functions[node.f].place;

    function weightText(state, weight) {
        return state.tree.unit === 'ns' ? page.duration(weight)
            : `${page.count(weight)} sample${weight === 1 ? '' : 's'}`;
    }

    const isHit = (state, node) => Boolean(state.search) && node.f !== 0 &&
        `${nameOf(state, node)} ${placeOf(state, node)}`.toLowerCase().includes(state.search);

    // ---- layout: where each box is ----

    function addBoxes(boxes, root, left, width, row, direction) {
        const scale = root.total > 0 ? width / root.total : 0, open = [[root, left, row]];
        while (open.length) {
            const [node, x, y] = open.pop();
            boxes.push({node, x, width: node.total * scale, row: y});
            let at = x;
            for (const kid of node.kids) {
                if (kid.total * scale >= LEAST) {
                    open.push([kid, at, y + direction]);
                }
                at += kid.total * scale;
            }
        }
    }

    function layoutWhole(state, width) {
        const boxes = [], above = [];
        for (let up = state.zoom.parent; up; up = up.parent) {
            above.unshift(up);
        }
        above.forEach((node, row) => boxes.push({node, x: 0, width, row, isAbove: true}));
        addBoxes(boxes, state.zoom, 0, width, above.length, 1);
        return boxes;
    }

    // Callers above the function, callees below it.
    function layoutSandwich(state, width) {
        const callers = [], callees = [];
        addBoxes(callers, state.callers, 0, width, 0, -1);
        addBoxes(callees, state.callees, 0, width, 0, 1);
        const boxes = [...callers.slice(1), ...callees];
        const top = boxes.reduce((least, box) => Math.min(least, box.row), 0);
        boxes.forEach((box) => {
            box.row -= top;
        });
        return boxes;
    }

    function layout(state, width) {
        state.boxes = state.sandwich ? layoutSandwich(state, width) : layoutWhole(state, width);
        state.rows = state.boxes.reduce((most, box) => Math.max(most, box.row + 1), 1);
    }

    // ---- drawing ----

    function fillOf(state, node) {
        const group = node.f === 0 ? 6 : state.tree.functions[node.f].group;
        const [hue, saturation] = HUES[group], spread = page.hash(nameOf(state, node)) % 10;
        return page.isDark() ? `hsl(${hue} ${saturation * 0.7}% ${26 + spread}%)`
            : `hsl(${hue} ${saturation}% ${75 + spread}%)`;
    }

    function drawBox(context, state, box) {
        const y = box.row * ROW, hit = isHit(state, box.node);
        context.globalAlpha = box.isAbove ? 0.65 : state.search && !hit ? 0.4 : 1;
        context.fillStyle = hit ? page.colour('--hit') : fillOf(state, box.node);
        context.fillRect(box.x, y, Math.max(box.width - 0.5, 0.5), ROW - 1);
        const place = placeOf(state, box.node), name = nameOf(state, box.node);
        const text = page.fit(context, place ? `${name}  ${place}` : name, box.width - 8);
        if (text) {
            context.fillStyle = hit ? '#fff' : page.colour('--ink');
            context.fillText(text, box.x + 4, y + ROW / 2);
        }
        context.globalAlpha = 1;
    }

    function draw(state, context) {
        context.textAlign = 'left';
        for (const box of state.boxes) {
            drawBox(context, state, box);
        }
        const focus = state.boxes.find((box) => box.node === state.focus);
        if (focus && document.activeElement === state.picture.canvas) {
            context.strokeStyle = page.colour('--focus');
            context.lineWidth = 2;
            context.strokeRect(focus.x + 1, focus.row * ROW, Math.max(focus.width - 2, 2), ROW - 1);
        }
    }

    // ---- search ----

    // A box inside a box that is found counts once.
    function foundWeight(state, node) {
        let sum = 0;
        const open = [node];
        while (open.length) {
            const next = open.pop();
            if (isHit(state, next)) {
                sum += next.total;
            } else {
                open.push(...next.kids);
            }
        }
        return sum;
    }

    function drawFound(state) {
        const root = state.sandwich ? state.callees : state.root;
        state.found.textContent = state.search
            ? `${page.percent(foundWeight(state, root), root.total)} found` : '';
    }

    // ---- what is shown ----

    function update(state) {
        const name = state.sandwich ? state.tree.functions[state.sandwich].name : '';
        state.back.hidden = !state.sandwich && state.zoom === state.root;
        state.words.replaceChildren(...(state.sandwich
            ? ['Callers above, callees below: ', el('bdi', {class: 'name'}, name),
                `, ${weightText(state, state.callees.total)}, ${page.percent(state.callees.total, state.root.total)}`]
            : [`${weightText(state, state.root.total)} in all. Click: zoom; double click: callers and callees.`]));
        drawFound(state);
        state.picture.draw();
    }

    function zoomTo(state, node) {
        state.zoom = node.folded && node.f === 0 ? node.parent : node;
        state.focus = state.zoom;
        update(state);
    }

    function openSandwich(state, f) {
        if (f === 0) {
            return;
        }
        state.sandwich = f;
        state.callers = page.callersOf(state.tree, f);
        state.callees = page.calleesOf(state.tree, f);
        state.focus = state.callees;
        update(state);
    }

    function goBack(state) {
        if (state.sandwich) {
            state.sandwich = 0;
            state.focus = state.zoom;
            update(state);
        } else {
            zoomTo(state, state.root);
        }
    }

    // Of a phase, of all steps, or of the whole recording.
    function choosePart(state, part) {
        const last = state.tree.parts.length - 1;
        page.weigh(state.tree, part === 'all' ? (parts) => parts.reduce((a, b) => a + b, 0)
            : part === 'steps' ? (parts) => parts.slice(0, last).reduce((a, b) => a + b, 0)
                : (parts) => parts[Number(part)]);
        state.root = page.wholeTree(state.tree);
        state.zoom = state.root;
        state.focus = state.root;
        fillTable(state);
        if (state.sandwich) {
            openSandwich(state, state.sandwich);
        } else {
            update(state);
        }
    }

    // ---- pointer and keyboard ----

    function boxAt(state, x, y) {
        const row = Math.floor(y / ROW);
        return state.boxes.find((box) => box.row === row && x >= box.x && x < box.x + Math.max(box.width, 1));
    }

    function tipOf(state, node) {
        const root = state.sandwich ? state.callees.total : state.root.total, {f} = node;
        const group = f === 0 ? 'folded' : page.GROUPS[state.tree.functions[f].group];
        return page.tipRows(nameOf(state, node), [...(placeOf(state, node) ? [[placeOf(state, node), '']] : []),
            ...(f === 0 ? [] : [[group, '']]),
            ['weight', `${weightText(state, node.total)}, ${page.percent(node.total, root)}`],
            ...(node.self ? [['itself', `${weightText(state, node.self)}, ${page.percent(node.self, root)}`]] : [])]);
    }

    function click(state, x, y) {
        const box = boxAt(state, x, y);
        if (box && !state.sandwich) {
            zoomTo(state, box.node);
        } else if (box) {
            openSandwich(state, box.node.f);
        }
    }

    function sibling(node, step) {
        const kids = node.parent ? node.parent.kids : [node];
        return kids[kids.indexOf(node) + step] || node;
    }

    function moveTo(state, node) {
        state.focus = node || state.focus;
        state.picture.draw();
        const box = state.boxes.find((one) => one.node === state.focus);
        if (box) {
            state.picture.showTip(tipOf(state, state.focus), box.x, (box.row + 1) * ROW - 10);
        }
    }

    function key(state, event) {
        const {focus} = state, actions = {
            ArrowDown: () => moveTo(state, focus.kids[0]), ArrowUp: () => moveTo(state, focus.parent),
            ArrowLeft: () => moveTo(state, sibling(focus, -1)), ArrowRight: () => moveTo(state, sibling(focus, 1)),
            Enter: () => state.sandwich ? openSandwich(state, focus.f) : zoomTo(state, focus),
            s: () => openSandwich(state, focus.f), Escape: () => goBack(state)
        };
        if (!(event.key in actions)) {
            return false;
        }
        actions[event.key]();
        return true;
    }

    function makePicture(state) {
        return page.picture({
            label: 'Flame graph; the table below has the functions. Arrow keys move, Enter zooms, ' +
                'S shows callers and callees, Escape returns.',
            height: (width) => {
                layout(state, width);
                return state.rows * ROW + 2;
            },
            draw: (context) => draw(state, context),
            tip: (x, y) => {
                const box = boxAt(state, x, y);
                return box ? tipOf(state, box.node) : null;
            },
            click: (x, y) => click(state, x, y),
            twice: (x, y) => {
                const box = boxAt(state, x, y);
                openSandwich(state, box && !state.sandwich ? box.node.f : 0);
            },
            key: (event) => key(state, event)
        });
    }

    // ---- the table behind the picture ----

    function fillTable(state) {
        const all = state.root.total, rows = page.functionTotals(state.tree)
            .sort((a, b) => b.self - a.self || b.total - a.total).slice(0, TABLE_ROWS);
        state.table.replaceChildren(...rows.map((row) => {
            const {name, place} = state.tree.functions[row.f];
            return el('tr', {}, el('td', {class: 'right'}, page.percent(row.self, all)),
                el('td', {class: 'right'}, page.percent(row.total, all)),
                el('td', {class: 'left'}, page.button(name, () => openSandwich(state, row.f), {class: 'link'})),
                el('td', {class: 'left'}, el('bdi', {}, place)));
        }));
    }

    function tableOf(state) {
        const titles = ['itself', 'with its callees', 'function', 'where'];
        return el('details', {}, el('summary', {}, 'The functions of the picture as a table'),
            el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Functions of the flame graph'},
                el('table', {}, el('thead', {}, el('tr', {}, ...titles.map((title, i) =>
                    el('th', {scope: 'col', class: i < 2 ? 'right' : 'left'}, title)))), state.table)));
    }

    // ---- choices ----

    function partChoice(state) {
        const {parts} = state.tree, choice = el('select', {'aria-label': 'Part of the steps'});
        if (parts.length > 1) {
            choice.append(el('option', {value: 'steps'}, 'all steps'));
            parts.forEach((name, i) => choice.append(el('option', {value: i}, name)));
        }
        choice.append(el('option', {value: 'all'}, 'the whole recording'));
        choice.addEventListener('change', () => choosePart(state, choice.value));
        choice.hidden = parts.length === 1;
        return choice;
    }

    function chooseTree(state, index) {
        state.tree = state.trees[index];
        state.sandwich = 0;
        const choice = partChoice(state);
        state.parts.replaceChildren(choice);
        state.parts.hidden = choice.hidden;
        choosePart(state, choice.value);
    }

    function treeChoice(state) {
        const choice = el('select', {'aria-label': 'What is counted', onchange: () => chooseTree(state, Number(choice.value))});
        state.trees.forEach((tree, i) => choice.append(el('option', {value: i},
            tree.unit === 'ns' ? 'time on devices' : 'samples of the host')));
        choice.hidden = state.trees.length === 1;
        return choice;
    }

    function legend(state) {
        const used = new Set(state.trees.flatMap((tree) => tree.functions.map((one) => one.group)));
        return el('ul', {class: 'legend small'}, ...page.GROUPS.map((name, group) => used.has(group) && group < 6
            ? el('li', {}, el('i', {class: `key group${group}`}), name) : null).filter(Boolean));
    }

    function tools(state) {
        const search = el('input', {type: 'search', placeholder: 'Search', 'aria-label': 'Search in the flame graph',
            oninput: () => {
                state.search = search.value.toLowerCase();
                update(state);
            }});
        return el('div', {class: 'tools'}, treeChoice(state), state.parts, search, state.found, state.back);
    }

    page.titles.calls = 'Flame graph';

    page.renderers.calls = function (block) {
        if (block.trees.length === 0) {
            return null;
        }
        const state = {trees: block.trees.map(page.readCalls), search: '', sandwich: 0, boxes: [], rows: 1,
            table: el('tbody'), words: el('p', {class: 'note', 'aria-live': 'polite'}), parts: el('span'),
            found: el('span', {class: 'count', 'aria-live': 'polite'})};
        state.back = page.button('Back', () => goBack(state));
        state.picture = makePicture(state);
        const bar = tools(state);
        chooseTree(state, 0);
        return el('div', {class: 'flame'}, bar, el('div', {class: 'tall'}, state.picture.frame), legend(state),
            state.words, tableOf(state));
    };
})(window.stepscope);
