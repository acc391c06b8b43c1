// SPDX-License-Identifier: Apache-2.0
// Questions to the server that this page came from.

// The token comes behind the "#" of the first address, which no request carries. It stays in this tab, for
// this port alone, as a cookie would not.
function takeToken() {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    if (given !== null) {
        sessionStorage.setItem("token", given);
        history.replaceState(null, "", location.pathname);
    }
    return sessionStorage.getItem("token") || "";
}

const AUTHORIZATION = {Authorization: `Bearer ${takeToken()}`};

async function failure(response) {
    return new Error((await response.text()).trim() || `the server answered ${response.status}`);
}

function address(path, values) {
    const words = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return words.length > 0 ? `/api/${path}?${words.join("&")}` : `/api/${path}`;
}

/** The answer as an object. */
export async function ask(path, values = {}, options = {}) {
    const headers = {...AUTHORIZATION, ...options.headers};
    const response = await fetch(address(path, values), {...options, headers});
    if (!response.ok) {
        throw await failure(response);
    }
    return response.json();
}

/** Replaces what the server keeps under a path. */
export function put(path, content) {
    return ask(path, {}, {method: "PUT", headers: {"Content-Type": "application/json"},
                          body: JSON.stringify(content)});
}

/** The bytes of an input file. */
export async function fileBytes(input) {
    const response = await fetch(`/input?number=${input}`, {headers: AUTHORIZATION});
    if (!response.ok) {
        throw await failure(response);
    }
    return response.arrayBuffer();
}
