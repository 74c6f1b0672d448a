// The chat of Hunch's page: sends what is typed, and writes what streams back, coloured by who
// guessed it. Text from the model reaches the page as text nodes alone, never as markup.
import { Panels } from './panels.js';

const byId = (id) => document.getElementById(id);
const log = byId('log'), prompt = byId('prompt'), panels = new Panels(byId);
let messages = [];
let running = null;  // AbortController of the answer that is being written

function say(role) {
  byId('hint')?.remove();
  const said = document.createElement('div');
  said.className = 'said ' + role;
  log.append(said);
  return said;
}

function note(said, text, fault = false) {
  const after = document.createElement('p');
  after.className = fault ? 'after fault' : 'after';
  after.textContent = text;
  said.append(after);
  follow(true);
}

// Keeps the end in view for those who are there already.
function follow(atEnd) {
  if (atEnd) log.scrollTop = log.scrollHeight;
}
const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;

function headers() {
  const key = byId('key').value;
  return { 'Content-Type': 'application/json', ...(key && { Authorization: 'Bearer ' + key }) };
}

function body() {
  return JSON.stringify({
    messages,
    stream: true,
    stream_options: { include_usage: true },
    temperature: Number(byId('temperature').value),
    max_completion_tokens: Number(byId('most').value),
    speculation: { enabled: byId('guess').checked, trace: true },
  });
}

async function explain(response) {
  if (response.status === 401) byId('key-row').hidden = false;
  try {
    return (await response.json()).error.message;
  } catch {
    return `the server answered ${response.status}`;
  }
}

// The objects of a stream of server-sent events.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split('\n\n');
    text = parts.pop();
    for (const part of parts) {
      const data = part.split('\n').filter((l) => l.startsWith('data: ')).map((l) => l.slice(6)).join('\n');
      if (data && data !== '[DONE]') yield JSON.parse(data);
    }
  }
}

function write(said, text, guessedBy) {
  const atEnd = isAtEnd();
  if (guessedBy) {
    const span = document.createElement('span');
    span.className = 'g ' + panels.classOf(guessedBy);
    span.title = 'guessed by ' + guessedBy;
    span.textContent = text;
    said.append(span);
  } else {
    said.append(text);
  }
  follow(atEnd);
}

// Returns the answer's text.
async function answer(said) {
  const response = await fetch('v1/chat/completions', { method: 'POST', headers: headers(), body: body(), signal: running.signal });
  if (!response.ok) throw new Error(await explain(response));
  let text = '', usage = null, timings = null;
  for await (const chunk of events(response)) {
    if (chunk.error) throw new Error(chunk.error.message);
    if (chunk.usage) usage = chunk.usage;
    if (chunk.timings) timings = chunk.timings;
    const piece = chunk.choices[0]?.delta?.content;
    if (piece !== undefined && piece !== null && chunk.choices[0].delta.role === undefined) panels.count();
    if (piece) {
      text += piece;
      write(said, piece, chunk.speculation?.guessed_by);
    }
    if (chunk.speculation?.step) panels.show(chunk.speculation.step);
  }
  if (usage && timings) note(said, panels.summary(usage, timings));
  return text;
}

async function send() {
  const text = prompt.value;
  if (!text.trim() || running) return;
  prompt.value = '';
  say('user').textContent = text;
  messages.push({ role: 'user', content: text });
  const said = say('assistant');
  running = new AbortController();
  byId('send').disabled = !(byId('stop').disabled = false);
  panels.begin();
  try {
    messages.push({ role: 'assistant', content: await answer(said) });
  } catch (error) {
    // What was asked goes back to where it was typed; the next try sends it again.
    messages.pop();
    if (!prompt.value) prompt.value = text;
    note(said, error.name === 'AbortError' ? 'stopped' : error.message, error.name !== 'AbortError');
  }
  running = null;
  byId('send').disabled = !(byId('stop').disabled = true);
  prompt.focus();
}

byId('form').addEventListener('submit', (event) => { event.preventDefault(); send(); });
prompt.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
document.addEventListener('keydown', (event) => { if (event.key === 'Escape') running?.abort(); });
byId('stop').addEventListener('click', () => running?.abort());
byId('new').addEventListener('click', () => {
  running?.abort();
  messages = [];
  log.replaceChildren();
  prompt.focus();
});

panels.watch(headers);
