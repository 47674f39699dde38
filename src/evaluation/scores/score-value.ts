import type { Scope } from '#platform/auth';
import { toRawJsonOrNull } from '#platform/json';
import { problem } from '#platform/problem';
import { type Output, rangeOf, readAnswer, type ScorerKind } from '../scorers';
import type { ScoreSource } from '../../telemetry';
import type { ScoreFieldsDto } from './score.dto';
import type { ScoreRow } from './score.entity';

/** The scorer that a request names. */
interface NamedScorer {
  scorer_kind: ScorerKind;
  /** The output of the scorer's definition. Null for scorers of kind `code`, which may give any score. */
  output: Output | null;
}

/** The value of a score. */
export type ScoreValue = Pick<ScoreRow, 'score' | 'label' | 'answers'>;

const VALUES = ['score', 'label', 'answers', 'comment'] as const;
const NAMES = { choice: 'label', value: 'score', answers: 'answers' };

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/**
 * Returns the source of a score. Errors: 403 for a source other than `end_user` if the caller has only the role `runtime`;
 * 400 for a source that does not fit the scorer.
 */
export function sourceOf(
  scope: Scope,
  { source }: Pick<ScoreFieldsDto, 'source'>,
  scorer: NamedScorer | null,
): ScoreSource {
  const isHuman = scorer?.scorer_kind === 'human';
  if (!scope.roles.has('annotator')) {
    if (!isSet(source) || source === 'end_user') return 'end_user';
    throw problem.accessDenied(
      'With only the role `runtime`, you can record scores of source `end_user`. Other sources require the role `annotator`.',
    );
  }
  if (source === 'human' && !isHuman) {
    throw problem.invalidField(
      '/source',
      'must not be `human`, because only scorers of kind `human` have human scores',
    );
  }
  if (source === 'client' && isHuman) {
    throw problem.invalidField('/source', 'must be `human` or `end_user` for a scorer of kind `human`');
  }
  return source ?? (isHuman ? 'human' : 'client');
}

/**
 * Reads the value of a score. A score by a human scorer must answer the scorer's output, except for the comment of an end
 * user. Other scores must lie in the range of the output. For an output of type `choice` or `questions`, `label` or
 * `answers` alone determines the score.
 *
 * Throws 400 for a value that is missing, of the wrong type or out of range. The returned function throws 422 for an unknown
 * choice, because the request's checks for 404 and 409 come between those for 400 and 422.
 */
export function readValue(
  scorer: NamedScorer | null,
  source: ScoreSource,
  dto: ScoreFieldsDto,
): () => ScoreValue {
  const { score = null, label = null, answers = null } = dto;
  const number = score === null ? null : Number(score);
  const output = scorer?.output ?? null;
  const isComment = source === 'end_user' && hasNoValue(dto) && isSet(dto.comment);
  const isAnswer = scorer?.scorer_kind === 'human' && !isComment;
  if (output !== null && (isAnswer || isSet(ANSWER_MEMBERS[output.type](dto)))) {
    return readOutput(output, dto, number);
  }
  if (dto.score === undefined && !VALUES.some((name) => isSet(dto[name]))) {
    throw problem.invalidField('', `must have at least one of ${VALUES.join(', ')}`);
  }
  if (output !== null && number !== null) checkRange(output, number);
  return () => ({ score: number, label, answers: toRawJsonOrNull(answers ?? undefined) });
}

/** Returns whether a score has no value, only perhaps a comment. A null score is a value. */
export const hasNoValue = ({ score, label, answers }: ScoreFieldsDto): boolean =>
  score === undefined && !isSet(label) && !isSet(answers);

/** The member that alone answers an output, by the type of the output. */
const ANSWER_MEMBERS: Record<Output['type'], (dto: ScoreFieldsDto) => unknown> = {
  choice: (dto) => dto.label,
  questions: (dto) => dto.answers,
  boolean: () => null,
  numeric: () => null,
};

/** Reads an answer to an output. If the score follows from the answer, a score that is sent must be equal to it. */
function readOutput(output: Output, dto: ScoreFieldsDto, number: number | null): () => ScoreValue {
  const isDerived = output.type === 'choice' || output.type === 'questions';
  const isTruth = output.type === 'boolean' && (number === 0 || number === 1);
  const value = {
    choice: dto.label,
    value: isDerived ? null : isTruth ? number === 1 : dto.score,
    answers: dto.answers,
  };
  const reading = readAnswer(output, value, NAMES);
  return () => {
    const { answer, score } = reading.scored();
    if (isDerived && number !== null && number !== score) {
      throw problem.invalidField('/score', `must be ${score}, the score of the answer, or omitted`);
    }
    return {
      score,
      label: answer.choice ?? null,
      answers: toRawJsonOrNull(answer.answers),
    };
  };
}

function checkRange(output: Output, score: number): void {
  const { min, max } = rangeOf(output);
  if (score >= min && score <= max) return;
  throw problem.invalidField(
    '/score',
    `must be a number from ${min} to ${max}, the range of the scorer's output`,
  );
}
