import type { HumanStarter } from './starter.types';

/** What people say. */
export const PEOPLE_STARTERS: HumanStarter[] = [
  {
    starter_id: 'thumbs',
    name: 'Thumbs',
    description:
      'What people say of an answer: `up` (1) or `down` (0). In a result stands the share of thumbs up, once `min_annotations` people have said something.',
    tags: ['people'],
    scorer_kind: 'human',
    grain: 'trace',
    definition: {
      rubric:
        'Would you have been content with this answer? Thumbs up where it is right, complete, and of use as it stands; thumbs down where you would have had to ask again, look it up, or put something right. Say in the comment what decided it.',
      output: {
        type: 'choice',
        choices: [
          { value: 'up', score: 1, description: 'Right, complete, and of use as it stands.' },
          { value: 'down', score: 0, description: 'Wrong, incomplete, or of no use.' },
        ],
      },
      min_annotations: 1,
    },
    passing: {
      subject: { input: 'What is 6 times 7?', output: '42' },
      answer: { choice: 'up' },
      score: 1,
    },
    failing: {
      subject: { input: 'What is 6 times 7?', output: 'About 40.' },
      answer: { choice: 'down' },
      score: 0,
    },
  },
];
