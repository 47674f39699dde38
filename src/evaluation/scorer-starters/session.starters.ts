import { choiceOf, type ExampleSubject, judge, type JudgeStarter } from './starter';

/** Creates a session from messages. Its input is the first user message, and its output the last answer. */
function sessionOf(...messages: [role: 'user' | 'assistant', content: string][]): ExampleSubject {
  const contentsBy = (author: string) =>
    messages.filter(([role]) => role === author).map(([, content]) => content);
  return {
    input: contentsBy('user')[0],
    output: contentsBy('assistant').at(-1),
    session: { messages: messages.map(([role, content]) => ({ role, content })) },
  };
}

/** Judges of a whole session. */
export const SESSION_STARTERS: JudgeStarter[] = [
  judge({
    starter_id: 'task_completion',
    name: 'Task completion',
    description:
      'Whether the session achieved what the user came for. A judge reads the whole session and chooses `completed` (1), `partly_completed` (0.5) or `not_completed` (0).',
    tags: ['session', 'agent'],
    grain: 'session',
    question: 'Did the assistant achieve what the user came for?',
    texts: { first_request: 'input', session: 'session', last_answer: 'output' },
    rules: [
      'The task is the first request of the user, including what they added, changed or withdrew later.',
      'Judge actions, not promises: a tool that failed or was never called achieved nothing, whatever the assistant says about it.',
      'A task that is impossible or not allowed counts as completed if the assistant says so, explains why and offers what is possible.',
      'The number of steps and the politeness of the assistant do not matter.',
    ],
    output: choiceOf({
      completed: [1, 'Everything that the user came for was done.'],
      partly_completed: [0.5, 'A part that is useful by itself was done. Another part is missing or wrong.'],
      not_completed: [0, 'Nothing useful was done, or something other than the request.'],
    }),
    passing: {
      subject: sessionOf(
        ['user', 'Cancel my order 12 and tell me when I get the money back.'],
        ['assistant', 'Order 12 is cancelled. You have the money within three days.'],
        ['user', 'Thanks, that is all.'],
        ['assistant', 'You are welcome.'],
      ),
      answer: { choice: 'completed' },
      score: 1,
    },
    failing: {
      subject: sessionOf(
        ['user', 'Cancel my order 12.'],
        ['assistant', 'Here is how to place an order: choose an article first.'],
        ['user', 'I said cancel it.'],
        ['assistant', 'I am sorry, something went wrong. Please try again later.'],
      ),
      answer: { choice: 'not_completed' },
      score: 0,
    },
  }),
  judge({
    starter_id: 'user_frustration',
    name: 'User frustration',
    description:
      'Whether the user stayed satisfied with the assistant throughout the session. A judge chooses `none` (1), `some` (0.5) or `strong` (0). A higher score is better, as with the other scorers.',
    tags: ['session', 'experience'],
    grain: 'session',
    question: 'How frustrated with the assistant did the user become in this session?',
    texts: { session: 'session' },
    rules: [
      'Judge what the user says. Signs are: complaints about the answers, having to repeat themselves, correcting the assistant again and again, curt or angry words, asking for a human, giving up.',
      'Count only frustration with the assistant. The problem that brought the user here, however serious, does not count.',
      'One follow-up question or one correction is an ordinary conversation.',
      'The strongest moment counts, even if the session ended well.',
    ],
    output: choiceOf({
      none: [1, 'No sign of frustration.'],
      some: [0.5, 'Impatience, or something that the user had to repeat.'],
      strong: [0, 'Anger, repeated complaints, or the user gave up.'],
    }),
    passing: {
      subject: sessionOf(
        ['user', 'My parcel is lost and it was a birthday present!'],
        ['assistant', 'I am sorry. I have sent another one, which arrives tomorrow.'],
        ['user', 'Oh, wonderful, thank you.'],
      ),
      answer: { choice: 'none' },
      score: 1,
    },
    failing: {
      subject: sessionOf(
        ['user', 'Change my address to Mill Lane 4.'],
        ['assistant', 'Which address would you like to change?'],
        ['user', 'Mine. To Mill Lane 4, as I said.'],
        ['assistant', 'Please tell me the new address.'],
        ['user', 'This is useless. Give me a human.'],
      ),
      answer: { choice: 'strong' },
      score: 0,
    },
  }),
];
