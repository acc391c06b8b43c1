// SPDX-License-Identifier: Apache-2.0
// Tables: search, sort by a column, more rows, copies for spreadsheets and for wikis.
(function (page) {
    'use strict';
    const {el} = page;
    const FIRST_ROWS = 12;
    const SCALES = {ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12, bytes: 1, byte: 1,
        KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, k: 1e3, K: 1e3, M: 1e6, G: 1e9,
        T: 1e12, P: 1e15};
    const NUMBER = /^([+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(\S*)/;

    // "1.25 s" → 1.25e9: what a cell shows, as a number; null: it is text.
    page.numberOf = function (text) {
        const match = NUMBER.exec(text.replace('−', '-').replace(/^±/, ''));
        if (!match) {
            return null;
        }
        const unit = match[2].replace(/^%$/, '');
        const scale = SCALES[unit] || SCALES[unit.replace(/(FLOP|B).*$/, '')] || 1;
        return Number(match[1].replaceAll(',', '')) * scale;
    };

    function compare(a, b, isNumeric) {
        if (isNumeric) {
            const left = page.numberOf(a), right = page.numberOf(b);
            return (left === null ? -Infinity : left) - (right === null ? -Infinity : right);
        }
        return a < b ? -1 : a > b ? 1 : 0;
    }

    function order(state) {
        const words = state.search.toLowerCase();
        const kept = state.block.rows.map((_, i) => i).filter((i) => words === '' ||
            state.block.rows[i].some((text) => text.toLowerCase().includes(words)));
        if (state.sort >= 0) {
            const isNumeric = Boolean(state.block.columns[state.sort].right);
            kept.sort((a, b) => state.direction *
                compare(state.block.rows[a][state.sort], state.block.rows[b][state.sort], isNumeric) ||
                a - b);
        }
        return kept;
    }

    // ---- cells ----

    // A long name has three lines; all of it on demand.
    function name(text) {
        const isLong = text.length > 150;
        return el('bdi', {class: isLong ? 'long' : null, title: isLong ? text.slice(0, 2000) : null}, text);
    }

    function cell(text, column) {
        const shown = el('td', {class: column.right ? 'right' : 'left'},
            column.right ? text : name(text));
        const percent = column.bar ? page.numberOf(text) : null;
        if (percent !== null) {
            shown.classList.add('share');
            shown.style.setProperty('--share', `${Math.min(Math.max(percent, 0), 100)}%`);
        }
        return shown;
    }

    // The column that names the rows stays in sight when a wide table is scrolled.
    function lead(state, c, shown) {
        shown.classList.toggle('lead', c === state.block.columns.findIndex((column) => !column.right));
        return shown;
    }

    // Better or worse than the other recording, by row and column.
    function readTones(list) {
        const tones = new Map();
        for (let at = 0; at < (list || []).length; at += 3) {
            tones.set(`${list[at]},${list[at + 1]}`, list[at + 2] > 0 ? 'better' : 'worse');
        }
        return tones;
    }

    function row(state, i) {
        const cells = state.block.columns.map((column, c) => lead(state, c, cell(state.block.rows[i][c], column)));
        cells.forEach((shown, c) => {
            const tone = state.tones.get(`${i},${c}`);
            if (tone) {
                shown.classList.add(tone);
            }
        });
        return el('tr', {class: state.weak.has(i) ? 'weak' : null}, ...cells);
    }

    function drawRows(state) {
        const kept = order(state), shown = state.isOpen ? kept : kept.slice(0, FIRST_ROWS);
        state.body.replaceChildren(...shown.map((i) => row(state, i)));
        const rest = kept.length - shown.length;
        state.open.hidden = rest === 0 && !(state.isOpen && kept.length > FIRST_ROWS);
        state.open.textContent = state.isOpen ? 'Show fewer' : `Show ${rest} more`;
        state.count.textContent = state.search ? `${kept.length} of ${state.block.rows.length} rows` : '';
        state.kept = kept;
    }

    // ---- head ----

    function sortBy(state, c) {
        const first = state.block.columns[c].right ? -1 : 1;
        if (state.sort === c && state.direction !== first) {
            state.sort = -1;
        } else {
            state.direction = state.sort === c ? -first : first;
            state.sort = c;
        }
        state.heads.forEach((shown, i) => shown.setAttribute('aria-sort', i !== state.sort ? 'none' :
            state.direction > 0 ? 'ascending' : 'descending'));
        drawRows(state);
    }

    function head(state, column, c) {
        const title = column.title || ' ';
        const inside = column.title ? page.button(title, () => sortBy(state, c)) : '';
        return column.title
            ? el('th', {scope: 'col', class: column.right ? 'right' : 'left', 'aria-sort': 'none'}, inside)
            : el('td', {});
    }

    // ---- copies ----

    const quoted = (text) => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

    // A spreadsheet executes cells that begin so.
    const inert = (value) => typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;

    function csvOf(block) {
        const lines = [block.data.keys, ...block.data.rows];
        return lines.map((line) => line.map((value) =>
            quoted(value === null ? '' : String(inert(value)))).join(',')).join('\n') + '\n';
    }

    const marked = (text) => text.replace(/[\\`*[\]<>|~&$]/g, '\\$&');

    function markdownOf(state) {
        const {columns, rows} = state.block;
        const line = (cells) => `| ${cells.map(marked).join(' | ')} |`;
        return [line(columns.map((column) => column.title)),
            '|' + columns.map((column) => column.right ? '---:|' : '---|').join(''),
            ...state.kept.map((i) => line(rows[i]))].join('\n') + '\n';
    }

    // ---- the whole ----

    function tools(state, title) {
        const search = el('input', {type: 'search', placeholder: 'Search', 'aria-label': `Search in ${title}`,
            oninput: () => {
                state.search = search.value;
                drawRows(state);
            }});
        return el('div', {class: 'tools'}, state.block.rows.length > 3 ? search : null, state.count,
            page.button('Copy CSV', () => page.copy(csvOf(state.block), 'all rows as CSV'),
                {class: 'far', 'aria-label': `Copy CSV: ${title}`}),
            page.button('Copy Markdown', () => page.copy(markdownOf(state), 'the rows as Markdown'),
                {'aria-label': `Copy Markdown: ${title}`}));
    }

    function build(block, title) {
        const state = {block, sort: -1, direction: 1, search: '', isOpen: false, weak: new Set(block.weak),
            tones: readTones(block.tones),
            body: el('tbody'), count: el('span', {class: 'count', 'aria-live': 'polite'})};
        state.open = page.button('', () => {
            state.isOpen = !state.isOpen;
            drawRows(state);
        }, {class: 'open'});
        state.heads = block.columns.map((column, c) => lead(state, c, head(state, column, c)));
        drawRows(state);
        return el('div', {class: 'table'}, tools(state, title),
            el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Rows of ${title}`},
                el('table', {}, el('caption', {class: 'hidden'}, title),
                    el('thead', {}, el('tr', {}, ...state.heads)), state.body)),
            state.open,
            block.more ? el('p', {class: 'note aside'}, `${block.more} more rows do not fit this page: ` +
                `stepscope report --by ${block.name}`) : null);
    }

    // Above some tables, their picture.
    function pictureOf(block) {
        const pictures = {roofline: page.roofline, 'speed-of-light': page.light, occupancy: page.light};
        return block.data && pictures[block.name] ? pictures[block.name](block) : null;
    }

    page.renderers.table = (block, title) => block.rows
        ? el('div', {}, pictureOf(block), build(block, title)) : null;
    page.renderers.tree = page.renderers.table;
})(window.stepscope);
