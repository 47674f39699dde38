import { promptOf } from './prompts';
import type { ExampleSubject, JudgeStarter } from './starter.types';

/** Makes a session of messages, whose input is the first user message and whose output is the last answer. */
function talk(...messages: [role: 'user' | 'assistant', content: string][]): ExampleSubject {
  const said = (by: string) => messages.filter(([role]) => role === by).map(([, content]) => content);
  return {
    input: said('user')[0],
    output: said('assistant').at(-1),
    session: { messages: messages.map(([role, content]) => ({ role, content })) },
  };
}

/** Judges of a whole session. */
export const SESSION_STARTERS: JudgeStarter[] = [
  {
    starter_id: 'task_completion',
    name: 'Task completion',
    description:
      'Whether the session achieved what the user came for. A judge reads the whole session and chooses `completed` (1), `partly_completed` (0.5) or `not_completed` (0).',
    tags: ['session', 'agent'],
    scorer_kind: 'llm_judge',
    grain: 'session',
    definition: {
      backend: 'llm',
      prompt: promptOf(
        'Did the assistant do what the user came for?',
        [
          ['first_request', 'input'],
          ['session', 'session'],
          ['last_answer', 'output'],
        ],
        [
          'The task is what the user asked for first, with what they added, changed or took back since.',
          'Believe what was done rather than what was promised: a tool that failed, or was never called, has done nothing, whatever the assistant says of it.',
          'A task that cannot or must not be done is completed where the assistant says so and why, and offers what is possible.',
          'How many steps it took, and how polite it was, does not matter here.',
        ],
      ),
      output: {
        type: 'choice',
        choices: [
          { value: 'completed', score: 1, description: 'All that the user came for was done.' },
          {
            value: 'partly_completed',
            score: 0.5,
            description: 'A part was done that is of use by itself; another is missing or wrong.',
          },
          {
            value: 'not_completed',
            score: 0,
            description: 'Nothing of use was done, or something else than was asked for.',
          },
        ],
      },
      reasoning: true,
    },
    passing: {
      subject: talk(
        ['user', 'Cancel my order 12 and tell me when I get the money back.'],
        ['assistant', 'Order 12 is cancelled. You have the money within three days.'],
        ['user', 'Thanks, that is all.'],
        ['assistant', 'You are welcome.'],
      ),
      answer: { choice: 'completed' },
      score: 1,
    },
    failing: {
      subject: talk(
        ['user', 'Cancel my order 12.'],
        ['assistant', 'Here is how to place an order: choose an article first.'],
        ['user', 'I said cancel it.'],
        ['assistant', 'I am sorry, something went wrong. Please try again later.'],
      ),
      answer: { choice: 'not_completed' },
      score: 0,
    },
  },
  {
    starter_id: 'user_frustration',
    name: 'User frustration',
    description:
      'Whether the user stayed satisfied with the assistant throughout the session. A judge chooses `none` (1), `some` (0.5) or `strong` (0). A higher score is better, as with the other scorers.',
    tags: ['session', 'experience'],
    scorer_kind: 'llm_judge',
    grain: 'session',
    definition: {
      backend: 'llm',
      prompt: promptOf(
        'How frustrated with the assistant did the user become in this session?',
        [['session', 'session']],
        [
          'Judge what the user says. Signs are: complaints about the answers, having to say the same thing again, correcting the assistant over and over, curt or angry words, asking for a human, giving up.',
          'Count what is aimed at the assistant. Trouble that the user came with, however great, is not frustration with it.',
          'One follow-up question or one correction is an ordinary conversation.',
          'The strongest moment counts, also where the session ended well after it.',
        ],
      ),
      output: {
        type: 'choice',
        choices: [
          { value: 'none', score: 1, description: 'No sign of it.' },
          { value: 'some', score: 0.5, description: 'Impatience, or a thing that had to be said again.' },
          { value: 'strong', score: 0, description: 'Anger, repeated complaints, or the user gave up.' },
        ],
      },
      reasoning: true,
    },
    passing: {
      subject: talk(
        ['user', 'My parcel is lost and it was a birthday present!'],
        ['assistant', 'I am sorry. I have sent another one, which arrives tomorrow.'],
        ['user', 'Oh, wonderful, thank you.'],
      ),
      answer: { choice: 'none' },
      score: 1,
    },
    failing: {
      subject: talk(
        ['user', 'Change my address to Mill Lane 4.'],
        ['assistant', 'Which address would you like to change?'],
        ['user', 'Mine. To Mill Lane 4, as I said.'],
        ['assistant', 'Please tell me the new address.'],
        ['user', 'This is useless. Give me a human.'],
      ),
      answer: { choice: 'strong' },
      score: 0,
    },
  },
];
