import { defineJob } from './job-kind';
import { checkHandlers } from './jobs.worker';

const GREET = defineJob<{ person_id: string }>({ name: 'greet', subject: 'person_id' });
const PART = defineJob<{ person_id: string }>({ name: 'part', subject: 'person_id' });

describe('checkHandlers', () => {
  it('accepts one handler for each kind', () => {
    const handlers = [
      { kind: GREET, handler: 'Greeter' },
      { kind: PART, handler: 'Parter' },
    ];
    expect(() => checkHandlers([GREET, PART], handlers)).not.toThrow();
  });

  it('rejects a kind without a handler, whose jobs would wait forever', () => {
    expect(() => checkHandlers([GREET, PART], [{ kind: GREET, handler: 'Greeter' }])).toThrow(
      'The job part has no handler.',
    );
  });

  it('rejects a kind with two handlers, which would share its jobs', () => {
    const handlers = [
      { kind: GREET, handler: 'One' },
      { kind: GREET, handler: 'Two' },
    ];
    expect(() => checkHandlers([GREET], handlers)).toThrow(
      'The job greet has more than one handler: One, Two.',
    );
  });

  it('rejects a handler of a kind that no module enqueues', () => {
    expect(() => checkHandlers([], [{ kind: GREET, handler: 'Greeter' }])).toThrow(
      'Greeter handles the job greet, which no module enqueues.',
    );
  });
});
