// SPDX-License-Identifier: Apache-2.0
// What all parts of the page use: elements, sentences, the clipboard, the choice of colours.
window.stepscope = {};
(function (page) {
    'use strict';

    // An element with attributes, or listeners ("onclick"), and children: elements or texts.
    page.el = function (tag, attributes, ...children) {
        const element = document.createElement(tag);
        for (const [name, value] of Object.entries(attributes || {})) {
            if (name.startsWith('on')) {
                element.addEventListener(name.slice(2), value);
            } else if (value !== undefined && value !== null && value !== false) {
                element.setAttribute(name, value === true ? '' : value);
            }
        }
        element.append(...children.filter((child) => child !== null && child !== undefined));
        return element;
    };
    const el = page.el;

    // A number and its unit stay together.
    const UNIT = /(\d) (%|[nµm]?s\b|[KMGT]iB|bytes)/g;

    // Words and names in turn; a name of the recording keeps its direction to itself.
    page.sentence = function (parts) {
        return parts.map((text, i) => i % 2 ? el('bdi', {class: 'name'}, text) : text.replace(UNIT, '$1\u00a0$2'));
    };
    page.plain = (parts) => parts.join('');

    page.button = function (text, onclick, attributes) {
        return el('button', {type: 'button', onclick, ...attributes}, text);
    };

    // ---- messages and the clipboard ----

    const status = el('div', {class: 'status', role: 'status'});
    let statusTimer = 0;

    page.say = function (text) {
        status.textContent = text;
        status.classList.add('shown');
        clearTimeout(statusTimer);
        statusTimer = setTimeout(() => status.classList.remove('shown'), 2500);
    };

    function copyByCommand(text) {
        const field = el('textarea', {class: 'offscreen', 'aria-hidden': 'true'});
        field.value = text;
        document.body.append(field);
        field.select();
        const done = document.execCommand('copy');
        field.remove();
        return done;
    }

    page.copy = async function (text, what) {
        const done = navigator.clipboard
            ? await navigator.clipboard.writeText(text).then(() => true, () => copyByCommand(text)) : copyByCommand(text);
        page.say(done ? `Copied ${what}` : 'The browser refused to copy');
    };

    // ---- light and dark ----

    const THEMES = ['auto', 'light', 'dark'];
    const dark = window.matchMedia('(prefers-color-scheme: dark)');

    function stored() {
        try {
            return localStorage.getItem('stepscope-theme');
        } catch {
            return null;
        }
    }

    function store(theme) {
        try {
            localStorage.setItem('stepscope-theme', theme);
        } catch { // a page from a file may have no storage: the choice lasts as long as it
            return;
        }
    }

    function setTheme(theme) {
        document.documentElement.dataset.theme = theme;
        document.dispatchEvent(new Event('redraw'));
    }

    page.themeSwitch = function () {
        const first = stored();
        const select = el('select', {id: 'theme', onchange: () => {
            store(select.value);
            setTheme(select.value);
        }});
        for (const theme of THEMES) {
            select.append(el('option', {value: theme}, theme));
        }
        select.value = THEMES.includes(first) ? first : 'auto';
        setTheme(select.value);
        return el('label', {class: 'theme'}, 'Colours ', select);
    };
    // Paper is white.
    window.addEventListener('beforeprint', () => {
        document.documentElement.dataset.screen = document.documentElement.dataset.theme;
        setTheme('light');
    });
    window.addEventListener('afterprint', () => setTheme(document.documentElement.dataset.screen || 'auto'));
    dark.addEventListener('change', () => document.dispatchEvent(new Event('redraw')));

    // The colour of a variable of the style sheet, for pictures.
    page.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

    page.statusLine = () => status;
})(window.stepscope);
