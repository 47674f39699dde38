import { defineJob } from './job-kind';
import { checkHandlers } from './jobs.worker';

const GREET = defineJob<{ person_id: string }>({ name: 'greet', subject: 'person_id' });
const PART = defineJob<{ person_id: string }>({ name: 'part', subject: 'person_id' });

describe('kinds of jobs and their handlers', () => {
  it('fit where each kind has one', () => {
    const handlers = [
      { kind: GREET, handler: 'Greeter' },
      { kind: PART, handler: 'Parter' },
    ];
    expect(() => checkHandlers([GREET, PART], handlers)).not.toThrow();
  });

  it('do not where a kind has none, so that no job lies unseen', () => {
    expect(() => checkHandlers([GREET, PART], [{ kind: GREET, handler: 'Greeter' }])).toThrow(
      'The job part has no handler.',
    );
  });

  it('do not where a kind has two, which would each get some of its jobs', () => {
    const handlers = [
      { kind: GREET, handler: 'One' },
      { kind: GREET, handler: 'Two' },
    ];
    expect(() => checkHandlers([GREET], handlers)).toThrow(
      'The job greet has more than one handler: One, Two.',
    );
  });

  it('do not where a handler is for a kind that nobody orders', () => {
    expect(() => checkHandlers([], [{ kind: GREET, handler: 'Greeter' }])).toThrow(
      'Greeter handles the job greet, which nobody orders.',
    );
  });
});
