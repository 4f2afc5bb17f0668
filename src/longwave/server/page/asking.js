// Many questions, one answer: the newest. A question that is overtaken is cancelled (AbortController).

/**
 * send(question, signal) fetches, show(answer, question) draws, fail(error) tells.
 *
 * The function returned takes a question. While something moves (a slider), the question on its way may come back
 * first, so that results move at the pace of the server; the newest waits. Otherwise the one on its way is cancelled.
 * Its `stop` cancels what is on its way.
 */
export function asker(send, show, fail) {
  let flight = null;
  let waiting = null;

  async function ask(question) {
    const control = new AbortController();
    flight = control;
    try {
      const answer = await send(question, control.signal);
      if (!control.signal.aborted) show(answer, question);
    } catch (error) {
      if (!control.signal.aborted) fail(error);
    }
    if (flight !== control) return;
    flight = null;
    const newest = waiting;
    waiting = null;
    if (newest !== null) ask(newest);
  }

  const next = (question, { moving = false } = {}) => {
    if (flight && moving) {
      waiting = question;
      return;
    }
    waiting = null;
    flight?.abort();
    ask(question);
  };
  next.stop = () => {
    waiting = null;
    flight?.abort();
  };
  return next;
}

/** The function, called once when nothing has happened for so many milliseconds. `flush` calls it now if it waits. */
export function settled(work, milliseconds) {
  let timer = null;
  let last = [];
  const now = () => {
    timer = null;
    work(...last);
  };
  const later = (...values) => {
    last = values;
    clearTimeout(timer);
    timer = setTimeout(now, milliseconds);
  };
  later.flush = () => {
    if (timer === null) return;
    clearTimeout(timer);
    now();
  };
  return later;
}
