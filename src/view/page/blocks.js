// SPDX-License-Identifier: Apache-2.0
// One function for each kind of block of the report: it returns the element that shows it.
(function (page) {
    'use strict';
    const {el, sentence} = page;
    page.renderers = {};
    page.titles = {};

    const show = (number) => number.toFixed(1) + ' %';

    page.renderers.headline = (block) => el('p', {class: 'headline'}, ...sentence(block.text));

    // ---- bar ----

    function share(one) {
        const part = el('span', {class: `share role${one.role}`},
            one.percent >= 7 ? el('bdi', {}, one.name) : null);
        part.style.flexGrow = Math.max(one.percent, 0);
        part.title = `${one.name}: ${show(one.percent)}`;
        return part;
    }

    function legendRow(one) {
        return el('li', {}, el('i', {class: `key role${one.role}`}), el('bdi', {}, one.name), ' ',
            el('b', {}, show(one.percent)));
    }

    // The role of each name's colour, by the first bar that has it: pictures use the same.
    page.roles = new Map();

    // The picture is hidden from screen readers, which read the list below it.
    page.renderers.bar = function (block) {
        block.shares.filter((one) => !page.roles.has(one.name)).forEach((one) => page.roles.set(one.name, one.role));
        return el('div', {class: 'bar'},
            el('div', {class: 'shares', 'aria-hidden': 'true'}, ...block.shares.map(share)),
            el('ul', {class: 'legend'}, ...block.shares.map(legendRow)));
    };

    // ---- findings ----

    // "…; fixing it saves up to 31 ms per step (48 %)": what it saves stands apart.
    function splitGain(parts) {
        const last = parts.length - 1, at = last >= 0 ? parts[last].lastIndexOf('; fixing it saves up to ') : -1;
        if (last % 2 || at < 0) {
            return {what: parts, gain: null};
        }
        return {what: [...parts.slice(0, last), parts[last].slice(0, at)],
            gain: parts[last].slice(at + 2)};
    }

    function sourceLine(source, text, i) {
        const number = source.first + i, isIt = number === source.line;
        return el(isIt ? 'mark' : 'span', {class: 'line'}, el('i', {'aria-hidden': 'true'}, String(number)), `${text}\n`);
    }

    function excerpt(source) {
        return el('figure', {class: 'excerpt'},
            el('figcaption', {}, el('bdi', {}, `${source.path}:${source.line}`),
                ' as the file is now, unchanged since the recording'),
            el('pre', {tabindex: '0', role: 'region', 'aria-label': `Source at ${source.path}:${source.line}`},
                el('code', {}, ...source.lines.map((text, i) => sourceLine(source, text, i)))));
    }

    function finding(one, number) {
        const {what, gain} = splitGain(one.headline);
        return el('li', {class: 'finding'},
            el('h3', {}, el('span', {class: 'number'}, String(number)), el('span', {}, ...sentence(what))),
            gain ? el('p', {class: 'gain'}, gain) : null,
            ...one.details.map((detail) => el('p', {class: 'detail'}, ...sentence(detail))),
            one.source ? excerpt(one.source) : null,
            one.evidence.length ? el('ul', {class: 'evidence', 'aria-label': 'Evidence'},
                ...one.evidence.map((fact) => el('li', {}, ...sentence(fact)))) : null,
            one.fix.length ? el('p', {class: 'fix'}, ...sentence(one.fix)) : null);
    }

    page.renderers.findings = (block) => el('ol', {class: 'findings'},
        ...block.findings.map((one, i) => finding(one, i + 1)));

    // ---- notes, the trust box, commands ----

    page.renderers.note = (block) => el('p', {
        class: `note ${block.severity}`,
        role: block.severity === 'warning' ? 'note' : null
    }, ...sentence(block.text));

    function facts(list) {
        const nodes = [];
        for (let i = 0; i < list.length; i += 2) {
            nodes.push(list[i], ...sentence(list[i + 1]));
        }
        return nodes;
    }

    page.renderers.header = function (block) {
        const list = el('dl', {class: 'trust'});
        let kind = null;
        for (const [key, row] of block.rows) {
            if (key !== '') {
                kind = key === 'Beware' ? 'beware' : null;
                list.append(el('dt', {class: kind}, key));
            }
            list.append(el('dd', {class: kind}, ...facts(row)));
        }
        return list;
    };

    page.renderers.commands = (block) => el('ul', {class: 'commands'},
        ...block.commands.map(([command, meaning]) => el('li', {},
            el('code', {}, command), page.button('Copy', () => page.copy(command, 'the command'),
                {'aria-label': `Copy ${command}`}), el('span', {}, meaning))));
})(window.stepscope);
