// The line below GraphiQL shows the state, cost and duration of an operation, and its last event. Each tab
// has a separate line.

/**
 * @typedef {object} Told what a result says of itself
 * @property {{ complexity: number, maximumComplexity: number } | undefined} cost
 * @property {string | undefined} eventId
 * @property {boolean} hasErrors
 *
 * @typedef {object} Shown
 * @property {'running' | 'good' | 'bad' | 'lost' | 'idle'} kind
 * @property {string} label
 * @property {readonly string[]} facts
 * @property {string | undefined} [eventId]
 *
 * @typedef {ReturnType<ReturnType<typeof createStatus>['begin']>} Run
 */

/** @returns {Shown} */
function beforeRun() {
  const key = /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘' : 'Ctrl';
  return { kind: 'idle', label: 'Ready', facts: [`${key}-Enter runs the operation`] };
}

const counted = (/** @type {number} */ count, /** @type {string} */ noun) =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

const costOf = (/** @type {Told['cost']} */ cost) =>
  cost === undefined
    ? []
    : [`cost ${cost.complexity.toLocaleString('en')} of ${cost.maximumComplexity.toLocaleString('en')}`];

function draw(/** @type {HTMLElement} */ line, /** @type {Shown} */ { kind, label, facts, eventId }) {
  line.dataset.kind = kind;
  const status = line.querySelector('[role=status]');
  if (status !== null && status.textContent !== label) status.textContent = label;
  const items = facts.map((fact) => Object.assign(document.createElement('span'), { textContent: fact }));
  if (eventId !== undefined) {
    const id = Object.assign(document.createElement('code'), { textContent: eventId });
    const item = document.createElement('span');
    item.append('event id ', id);
    items.push(item);
  }
  line.querySelector('.facts')?.replaceChildren(...items);
}

/** @param {HTMLElement} line */
export function createStatus(line) {
  /** @type {Map<string, Shown>} */
  const shownIn = new Map();
  let tab = '';
  const redraw = () => draw(line, shownIn.get(tab) ?? beforeRun());

  return {
    /** Shows the state of this tab's operation. */
    open(/** @type {string} */ id) {
      tab = id;
      redraw();
    },

    /** Starts an operation of the open tab. GraphiQL's introspection query is not shown. */
    begin(/** @type {string | null | undefined} */ operationName) {
      const own = tab;
      const begunAt = performance.now();
      let events = 0;
      let connections = 0;
      let hasEnded = operationName === 'IntrospectionQuery';
      /** @type {Told['cost']} */
      let cost;
      /** @type {string | undefined} */
      let eventId;

      function show(
        /** @type {Shown['kind']} */ kind,
        /** @type {string} */ label,
        /** @type {readonly string[]} */ facts = [],
      ) {
        if (hasEnded) return;
        shownIn.set(own, { kind, label, facts: [...facts, ...costOf(cost)], eventId });
        if (own === tab) redraw();
      }
      const showStream = (/** @type {Shown['kind']} */ kind, /** @type {string} */ label) => {
        const again = connections > 1 ? [`resumed ${counted(connections - 1, 'time')}`] : [];
        show(kind, label, [counted(events, 'event'), ...again]);
      };
      function end(/** @type {() => void} */ last) {
        last();
        hasEnded = true;
      }

      show('running', 'Running');
      return {
        responded(/** @type {number} */ status, /** @type {Told} */ told) {
          ({ cost, eventId } = told);
          const took = `${Math.round(performance.now() - begunAt).toLocaleString('en')} ms`;
          if (status !== 200) end(() => show('bad', `Failed with status ${status}`, [took]));
          else if (told.hasErrors) end(() => show('bad', 'Completed with errors', [took]));
          else end(() => show('good', 'Completed', [took]));
        },
        noResponse: () => end(() => show('bad', 'No response')),
        opened() {
          connections += 1;
          if (connections > 1) showStream('good', 'Live: resumed after the last event');
          else showStream('good', 'Live: waiting for the first event');
        },
        moved(/** @type {string} */ id) {
          eventId = id;
          // The label stays, because the position alone is no news.
          const { kind = 'good', label = '' } = shownIn.get(own) ?? {};
          showStream(kind, label);
        },
        event(/** @type {Told} */ told) {
          events += 1;
          cost = told.cost;
          showStream('good', 'Live');
        },
        broken: () => showStream('lost', 'Reconnecting'),
        ended: () => end(() => showStream('idle', 'Closed by the service')),
        stopped: () => end(() => showStream('idle', 'Stopped')),
      };
    },
  };
}
