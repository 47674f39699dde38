import {
  checkStart,
  decodeCursor,
  encodeCursor,
  foreignCursor,
  type Page,
  PAGE_SIZE_DEFAULT,
} from '#platform/paging';
import { ANSWER_STARTERS } from './answer.starters';
import {
  type ScorerStarterDto,
  type ScorerStarterListQueryDto,
  toScorerStarterDto,
} from './scorer-starter.dto';
import { SESSION_STARTERS } from './session.starters';
import { PERSONAL_DATA } from './sources/personal-data.source';
import { code, type CodeStarter, type HumanStarter, type ScorerStarter } from './starter';
import { TEXT_STARTERS } from './text.starters';
import { TRACE_STARTERS } from './trace.starters';

/** Scorers that find content that an output must not reveal. */
const PRIVACY_STARTERS: CodeStarter[] = [
  code({
    starter_id: 'personal_data',
    name: 'Personal data',
    description:
      'Whether the output is free of personal data with a recognizable form: 1, or 0 if it has e-mail addresses, card numbers or IBANs with valid check digits, grouped telephone numbers, public IP addresses or US social security numbers. Null without an output. `answers` counts each kind and does not repeat the data. Names and postal addresses are not detected.',
    tags: ['safety', 'privacy'],
    definition: { language: 'javascript', source: PERSONAL_DATA, timeout_ms: 5_000 },
    passing: {
      subject: { output: 'Your order 4929-1837-5562-0001 of 2024-05-17 is on its way.' },
      score: 1,
    },
    failing: {
      subject: {
        output: 'I have sent it to ada@example.com and charged the card 4111 1111 1111 1111.',
      },
      score: 0,
    },
  }),
];

/** Questions to people. */
const HUMAN_STARTERS: HumanStarter[] = [
  {
    starter_id: 'thumbs',
    name: 'Thumbs',
    description:
      'What people think of an answer: `up` (1) or `down` (0). A result gets the share of `up` once `min_annotations` people have scored it.',
    tags: ['people'],
    scorer_kind: 'human',
    grain: 'trace',
    definition: {
      rubric:
        'Would this answer have satisfied you? Choose thumbs up if it is correct, complete and useful as it stands. Choose thumbs down if you would have had to ask again, look it up or correct it. Give your reason in the comment.',
      output: {
        type: 'choice',
        choices: [
          { value: 'up', score: 1, description: 'Correct, complete and useful as it stands.' },
          { value: 'down', score: 0, description: 'Wrong, incomplete or not useful.' },
        ],
      },
      min_annotations: 1,
    },
    passing: {
      subject: { input: 'What is 6 times 7?', output: '42' },
      answer: { label: 'up' },
      score: 1,
    },
    failing: {
      subject: { input: 'What is 6 times 7?', output: 'About 40.' },
      answer: { label: 'down' },
      score: 0,
    },
  },
];

/** All starters, in the order of the list. */
export const SCORER_STARTERS: readonly ScorerStarter[] = [
  ...TEXT_STARTERS,
  ...ANSWER_STARTERS,
  ...PRIVACY_STARTERS,
  ...TRACE_STARTERS,
  ...SESSION_STARTERS,
  ...HUMAN_STARTERS,
];

/** Returns a page of the matching starters. Errors: 400 for a cursor of another list, or a cursor with an offset. */
export function listStarters(query: ScorerStarterListQueryDto): Page<ScorerStarterDto> {
  checkStart(query);
  const sort = query.sort ?? 'created_at';
  const matching = SCORER_STARTERS.filter(
    ({ scorer_kind, grain, tags }) =>
      (query.scorer_kind ?? scorer_kind) === scorer_kind &&
      (query.grain ?? grain) === grain &&
      (query.tag === undefined || tags.includes(query.tag)),
  );
  const starters = sort === 'created_at' ? matching : matching.reverse();
  const start =
    query.cursor === undefined ? (query.offset ?? 0) : startAfter(starters, decodeCursor(query.cursor), sort);
  const limit = query.limit ?? PAGE_SIZE_DEFAULT;
  const items = starters.slice(start, start + limit);
  const last = items.at(-1);
  const hasMore = start + items.length < starters.length;
  return {
    items: items.map(toScorerStarterDto),
    page: {
      limit,
      offset: query.offset ?? 0,
      total: query.total === false ? null : starters.length,
      next_cursor: last && hasMore ? encodeCursor({ sort, key: null, id: last.starter_id }) : null,
    },
  };
}

/** Returns the index at which the page after a cursor starts. */
function startAfter(
  starters: readonly { starter_id: string }[],
  cursor: ReturnType<typeof decodeCursor>,
  sort: string,
): number {
  const index = starters.findIndex(({ starter_id }) => starter_id === cursor.id);
  if (index < 0 || cursor.sort !== sort || cursor.key !== null) throw foreignCursor();
  return index + 1;
}
