import { ANSWER_STARTERS } from './answer.starters';
import { PEOPLE_STARTERS } from './people.starters';
import { PRIVACY_STARTERS } from './privacy.starters';
import { SESSION_STARTERS } from './session.starters';
import type { ScorerStarter } from './starter.types';
import { TEXT_STARTERS } from './text.starters';
import { TRACE_STARTERS } from './trace.starters';

/** All starters, in the order in which they are listed. */
export const SCORER_STARTERS: readonly ScorerStarter[] = [
  ...TEXT_STARTERS,
  ...ANSWER_STARTERS,
  ...PRIVACY_STARTERS,
  ...TRACE_STARTERS,
  ...SESSION_STARTERS,
  ...PEOPLE_STARTERS,
];
