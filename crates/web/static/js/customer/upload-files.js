// Sends chosen files one after the other, each with a bar, and tries again when the line breaks. The answer to a file is
// the page itself, as without script; the parts that changed are taken from it.

const TRIES = 6;
const PAUSE = 1000;

class UploadFiles extends HTMLElement {
  waiting = [];
  busy = false;

  connectedCallback() {
    this.addEventListener('change', (event) => {
      const input = event.target;
      if (input.type !== 'file') return;
      this.add(input.closest('.c-item'), [...input.files]);
      input.value = '';
    });
    for (const kind of ['dragover', 'dragleave', 'drop']) this.addEventListener(kind, (event) => this.drag(event));
    addEventListener('beforeunload', (event) => { if (this.busy || this.waiting.length) event.preventDefault(); });
    addEventListener('online', () => this.wake?.());
  }

  drag(event) {
    const item = event.target.closest('.c-item');
    if (!item?.querySelector('.c-drop') || !event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    item.classList.toggle('is-over', event.type === 'dragover');
    if (event.type === 'drop') this.add(item, [...event.dataTransfer.files]);
  }

  add(item, files) {
    for (const old of item.querySelectorAll('.c-refused[data-own]')) old.remove();
    for (const file of files) {
      if (file.size > Number(this.dataset.most)) this.refuse(item, file, this.dataset.tooLarge);
      else if (file.size === 0) this.refuse(item, file, this.dataset.empty);
      else this.waiting.push(this.row(item, file));
    }
    this.next();
  }

  refuse(item, file, why) {
    const box = made('div', 'c-refused');
    box.dataset.own = '';
    box.setAttribute('role', 'alert');
    const text = made('p');
    text.append(made('b', '', this.dataset.notTaken.replace('{name}', () => file.name)), ` ${why}`);
    box.append(text);
    item.querySelector('.c-body').append(box);
  }

  // What is shown of a file on its way. It outlives its item, which is taken from each answer anew.
  row(item, file) {
    const job = { item: item.id, action: item.querySelector('form').action, file, tries: 0 };
    job.node = made('div', 'c-file is-going');
    const body = made('div');
    const head = made('p');
    head.append(made('bdi', '', file.name), ' ');
    job.sent = made('span', 'c-meta num', this.size(file.size));
    head.append(job.sent);
    job.bar = made('progress', 'progress');
    job.bar.max = file.size;
    job.bar.value = 0;
    job.bar.setAttribute('aria-label', file.name);
    job.state = made('p', 'c-meta', this.waiting.length || this.busy ? this.dataset.waiting : '');
    job.state.setAttribute('role', 'status');
    body.append(head, job.bar, job.state);
    const stop = made('button', 'btn btn--quiet btn--icon', '×');
    stop.type = 'button';
    stop.setAttribute('aria-label', this.dataset.stop.replace('{name}', () => file.name));
    stop.addEventListener('click', () => this.stop(job));
    job.node.append(body, stop);
    this.going(item).append(job.node);
    return job;
  }

  going(item) {
    let going = item.querySelector('.c-going');
    if (!going) {
      going = made('div', 'c-going');
      item.querySelector('.c-body').append(going);
    }
    return going;
  }

  stop(job) {
    job.stopped = true;
    job.request?.abort();
    job.node.remove();
    this.waiting = this.waiting.filter((other) => other !== job);
    this.wake?.();
  }

  async next() {
    if (this.busy) return;
    const job = this.waiting.shift();
    if (!job) return;
    this.busy = true;
    try {
      await this.bring(job);
    } finally {
      this.busy = false;
      this.next();
    }
  }

  async bring(job) {
    for (job.tries = 0; job.tries < TRIES && !job.stopped; job.tries += 1) {
      if (job.tries > 0) {
        job.state.textContent = this.dataset.lost;
        await this.pause(Math.max(PAUSE * 2 ** (job.tries - 1), job.comeBack ?? 0));
        if (job.stopped) return;
      }
      const answer = await this.post(job);
      if (job.stopped) return;
      if (answer.html) {
        job.node.remove();
        this.show(answer.html);
        return;
      }
      job.comeBack = answer.comeBack;
    }
    if (!job.stopped) this.offer(job);
  }

  pause(time) {
    return new Promise((done) => {
      this.wake = done;
      setTimeout(done, Math.min(time, 60_000));
    });
  }

  // The page that came of it, or nothing when it is worth another try.
  post(job) {
    return new Promise((done) => {
      const request = new XMLHttpRequest();
      job.request = request;
      request.open('POST', job.action);
      request.upload.addEventListener('progress', (event) => {
        const sent = Math.min(event.loaded, job.file.size);
        job.bar.value = sent;
        job.sent.textContent = this.dataset.of.replace('{sent}', this.size(sent)).replace('{size}', this.size(job.file.size));
        job.state.textContent = sent === job.file.size ? this.dataset.checking : '';
      });
      request.addEventListener('load', () => {
        const again = request.status === 429 || request.status >= 500;
        const comeBack = 1000 * Number(request.getResponseHeader('retry-after') ?? 0);
        done(again ? { comeBack } : { html: request.responseText });
      });
      for (const end of ['error', 'abort', 'timeout']) request.addEventListener(end, () => done({}));
      const form = new FormData();
      form.append('file', job.file);
      request.send(form);
    });
  }

  offer(job) {
    job.state.textContent = `${this.dataset.gaveUp} `;
    const again = made('button', 'btn', this.dataset.tryAgain);
    again.type = 'button';
    again.addEventListener('click', () => {
      again.remove();
      job.state.textContent = '';
      this.waiting.push(job);
      this.next();
    });
    job.state.after(again);
  }

  show(html) {
    const page = new DOMParser().parseFromString(html, 'text/html');
    if (!page.querySelector('upload-files')) {
      document.querySelector('main').replaceWith(page.querySelector('main') ?? made('main'));
      return;
    }
    // The elements stay and their content changes: that is what screen readers tell of.
    for (const id of ['intro', 'progress']) {
      const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
      if (old.innerHTML !== fresh.innerHTML) old.replaceChildren(...fresh.childNodes);
    }
    for (const item of [...page.querySelectorAll('.c-item')]) this.take(item);
  }

  take(fresh) {
    const old = document.getElementById(fresh.id);
    if (!old || old.outerHTML === fresh.outerHTML) return;
    const going = old.querySelector('.c-going');
    const own = [...old.querySelectorAll('.c-refused[data-own]')];
    const focused = old.contains(document.activeElement) ? document.activeElement.id : '';
    old.replaceWith(fresh);
    if (going?.childElementCount) fresh.querySelector('.c-body').append(going);
    fresh.querySelector('.c-body')?.append(...own);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  size(bytes) {
    if (bytes < 1e3) return `${bytes} B`;
    if (bytes < 1e6) return `${Math.floor(bytes / 1e3)} KB`;
    return `${(Math.floor(bytes / 1e5) / 10).toFixed(1).replace('.', this.dataset.point)} MB`;
  }
}

function made(name, className = '', text = '') {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.textContent = text;
  return node;
}

customElements.define('upload-files', UploadFiles);
