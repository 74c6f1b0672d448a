// What is beside the chat: speed against plain decoding, the tree of the last step, and what
// /metrics says of the whole server.

const kHeads = ['eagle3', 'eagle2', 'eagle', 'medusa'];  // shown as a draft model is
const kDrafters = ['ngram', 'suffix', 'ngram_cache', 'token_recycling', 'lookahead', 'draft_model'];
const kSvg = 'http://www.w3.org/2000/svg';
const kColumn = 96, kRow = 26, kBox = 88, kLetters = 10;

function svg(name, attributes, ...children) {
  const element = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const shown = (text) => text.replaceAll('\n', '⏎').replaceAll('\t', '⇥').replaceAll(' ', '␣');
const cut = (text) => ([...text].length > kLetters ? [...text].slice(0, kLetters - 1).join('') + '…' : text);
const number = (value, digits = 1) => (Number.isFinite(value) ? value.toFixed(digits) : '–');

// Name and labels -> value, of the Prometheus text format.
function readMetrics(text) {
  const values = new Map();
  for (const line of text.split('\n')) {
    const match = /^([\w:]+)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!match) continue;
    const position = /position="(\d+)"/.exec(match[2] ?? '');
    values.set(position ? `${match[1]} ${position[1]}` : match[1], Number(match[3]));
  }
  return values;
}

export class Panels {
  constructor(byId) {
    this.byId = byId;
    this.begin();
  }

  classOf(drafter) {
    if (kHeads.includes(drafter)) return 'draft_model';
    return kDrafters.includes(drafter) ? drafter : 'other';
  }

  begin() {
    this.first = null;  // when the first token came
    this.tokens = 0;
    this.steps = 0;
    this.plainMs = 0;
    this.stepTokens = 0;
    for (const id of ['speed', 'plain', 'faster', 'per-pass']) this.set(id, '–');
    this.byId('tree').replaceChildren();
    this.byId('legend').replaceChildren();
  }

  set(id, text) {
    this.byId(id).textContent = text;
  }

  // A token came.
  count() {
    const now = performance.now();
    this.first ??= now;
    this.tokens += 1;
    const speed = (this.tokens - 1) / ((now - this.first) / 1000);
    const plain = this.stepTokens / (this.plainMs / 1000);
    this.set('speed', number(speed));
    this.set('plain', number(plain));
    this.set('faster', number(speed / plain, 2));
    this.set('per-pass', number(this.stepTokens / this.steps, 2));
  }

  show(step) {
    this.steps += 1;
    this.plainMs += step.plain_ms;
    this.stepTokens += step.tokens;
    this.drawTree(step.guesses);
  }

  summary(usage, timings) {
    const parts = [`${usage.completion_tokens} tokens`, `${number(timings.predicted_per_second)} tokens/s`];
    if (timings.target_passes > 0) parts.push(`${timings.target_passes} passes`);
    if (timings.draft_n > 0) parts.push(`${timings.draft_n_accepted} of ${timings.draft_n} guesses accepted`);
    if (this.byId('faster').textContent !== '–') parts.push(`${this.byId('faster').textContent} times plain`);
    return parts.join(' · ');
  }

  // Depth goes to the right; a leaf has a row of its own, and an inner node the row of its first.
  drawTree(guesses) {
    const children = guesses.map(() => []), roots = [];
    guesses.forEach((guess, i) => (guess.parent < 0 ? roots : children[guess.parent]).push(i));
    const place = [];
    let rows = 0, columns = 0;
    const lay = (i, depth) => {
      place[i] = { x: 6 + depth * kColumn, y: 6 + rows * kRow };
      columns = Math.max(columns, depth + 1);
      if (children[i].length === 0) rows += 1;
      for (const child of children[i]) lay(child, depth + 1);
    };
    for (const root of roots) lay(root, 0);

    const accepted = guesses.filter((guess) => guess.accepted).length;
    const label = guesses.length === 0 ? 'no guesses in this step' : `${guesses.length} guesses, ${accepted} accepted`;
    const picture = svg('svg', { width: 12 + columns * kColumn, height: 12 + Math.max(rows, 1) * kRow, role: 'img', 'aria-label': label });
    guesses.forEach((guess, i) => {
      if (guess.parent < 0) return;
      const from = place[guess.parent], to = place[i];
      picture.append(svg('line', { x1: from.x + kBox, y1: from.y + 10, x2: to.x, y2: to.y + 10 }));
    });
    guesses.forEach((guess, i) => {
      const { x, y } = place[i];
      const name = `${guess.accepted ? 'yes' : 'no'} ${this.classOf(guess.drafter)}`;
      picture.append(svg('g', { class: name },
        svg('title', {}, `${shown(guess.text)}, guessed by ${guess.drafter}, ${guess.accepted ? 'accepted' : 'not accepted'}`),
        svg('rect', { x, y, width: kBox, height: 20, rx: 4 }),
        svg('text', { x: x + 5, y: y + 14 }, cut(shown(guess.text)))));
    });
    if (guesses.length === 0) picture.append(svg('text', { x: 8, y: 22 }, 'none'));
    if (guesses.length === 0) picture.setAttribute('width', 80);
    this.byId('tree').replaceChildren(picture);
    for (const guess of guesses) this.addToLegend(guess.drafter);
  }

  addToLegend(drafter) {
    const legend = this.byId('legend');
    if ([...legend.children].some((item) => item.textContent === drafter)) return;
    const item = document.createElement('li'), name = document.createElement('span');
    name.className = 'g ' + this.classOf(drafter);
    name.textContent = drafter;
    item.append(name);
    legend.append(item);
  }

  drawDepths(values) {
    const drafts = values.get('vllm:spec_decode_num_drafts_total');
    const body = this.byId('depths').tBodies[0];
    body.replaceChildren();
    for (let depth = 0; drafts > 0; ++depth) {
      const share = values.get(`vllm:spec_decode_num_accepted_tokens_per_pos_total ${depth}`) / drafts;
      if (!(share > 0)) break;
      const row = body.insertRow(), head = document.createElement('th');
      head.scope = 'row';
      head.textContent = depth + 1;
      row.append(head);
      const bar = document.createElement('div'), length = document.createElement('span'), text = document.createElement('span');
      bar.className = 'bar';
      length.style.width = `${(70 * share).toFixed(1)}%`;
      text.textContent = `${(100 * share).toFixed(0)} %`;
      bar.append(length, text);
      row.insertCell().append(bar);
    }
  }

  // Asks the server how it is, once a second while the page is looked at.
  async watch(headers) {
    const look = async () => {
      if (document.hidden) return;
      try {
        if (!this.named) await this.nameModel(headers());
        const values = readMetrics(await (await fetch('metrics')).text());
        const queries = values.get('vllm:prefix_cache_queries_total');
        this.set('running', values.get('vllm:num_requests_running'));
        this.set('waiting', values.get('vllm:num_requests_waiting'));
        this.set('kv', `${number(100 * values.get('vllm:kv_cache_usage_perc'))} %`);
        this.set('hits', queries > 0 ? `${number((100 * values.get('vllm:prefix_cache_hits_total')) / queries, 0)} %` : '–');
        this.drawDepths(values);
        this.set('server-note', '');
      } catch {
        this.set('server-note', 'The server does not answer.');
      }
    };
    await look();
    setInterval(look, 1000);
  }

  async nameModel(headers) {
    const response = await fetch('v1/models', { headers });
    if (response.status === 401) {
      this.byId('key-row').hidden = false;
      return this.set('model', 'needs an API key');
    }
    const { data } = await response.json();
    this.named = true;
    this.set('model', `${data[0].id}, context of ${data[0].max_model_len} tokens`);
    document.title = `${data[0].id} · Hunch`;
  }
}
