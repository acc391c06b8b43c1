// SPDX-License-Identifier: Apache-2.0
// Groups the blocks of the report into sections and shows them.
(function (page) {
    'use strict';
    const {el} = page;
    const TITLES = {headline: 'Where the time goes', findings: 'What to fix first', series: 'Step by step',
        curves: 'Memory and host over time',
        header: 'What was recorded, and how faithfully', commands: 'What to run next', note: 'Notes'};

    // A section begins with each block that is not joined to the one before it.
    function sections(blocks) {
        const list = [];
        for (const block of blocks) {
            if (!block.joined || list.length === 0) {
                list.push([]);
            }
            list[list.length - 1].push(block);
        }
        return list;
    }

    function titleOf(blocks) {
        if (blocks[0].kind === 'headline' && page.isDiff) {
            return 'What changed';
        }
        if (blocks[0].kind === 'headline' && blocks[0] !== page.lastHeadline) {
            return 'The ranks'; // their headline stands before that of the steps
        }
        const named = blocks.find((block) => block.kind === 'heading' || block.title);
        if (named) {
            return named.title || named.text;
        }
        const kind = blocks.find((block) => block.kind === 'findings') ? 'findings' : blocks[0].kind;
        return TITLES[kind] || page.titles[kind] || 'Report';
    }

    function sectionOf(blocks, index) {
        const title = titleOf(blocks), id = `part${index}`;
        const parts = blocks.map((block) => page.renderers[block.kind] &&
            page.renderers[block.kind](block, title)).filter(Boolean);
        if (parts.length === 0) {
            return null;
        }
        return el('section', {id, class: `of-${blocks[0].kind}`, 'aria-labelledby': `${id}-title`},
            el('h2', {id: `${id}-title`}, title), ...parts);
    }

    function top(block) {
        const what = block ? block.what : 'stepscope report';
        return el('header', {class: 'top'},
            el('div', {}, el('h1', {}, what),
                block ? el('p', {class: 'of'}, ...page.sentence(block.of)) : null),
            el('div', {class: 'choices'}, page.themeSwitch(),
                page.button('Print', () => window.print())));
    }

    function links(shown) {
        return el('nav', {'aria-label': 'Parts of the report'}, el('ul', {}, ...shown.map((section) =>
            el('li', {}, el('a', {href: `#${section.id}`}, section.querySelector('h2').textContent)))));
    }

    function start() {
        const data = JSON.parse(document.getElementById('report-data').textContent);
        page.data = data;
        const title = data.blocks.find((block) => block.kind === 'title');
        page.hasHeat = data.blocks.some((block) => block.kind === 'heat');
        page.lastHeadline = data.blocks.filter((block) => block.kind === 'headline').pop();
        page.isDiff = Boolean(title) && title.what.endsWith('diff');
        const rest = data.blocks.filter((block) => block !== title);
        const shown = sections(rest).map(sectionOf).filter(Boolean);
        const main = document.getElementById('report');
        main.append(...shown);
        main.before(top(title), links(shown));
        main.after(el('footer', {}, `stepscope ${data.version}. This file is complete: it loads nothing.`),
            page.statusLine());
        document.documentElement.dataset.ready = 'yes';
    }

    start();
})(window.stepscope);
