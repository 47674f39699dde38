import { inSlices } from '#platform/concurrency';
import { isJsonObject } from '#platform/json';
import type { Masking } from '#platform/masking';
import type { PatchResultDto, ResultFieldsDto } from './result.dto';

/** The free-form members of a result. */
const FREE_FORM = ['input', 'expected', 'output', 'error', 'metadata', 'tags'] as const;
const LABEL_MAX = 255;

/**
 * Masks the texts of results in place, before anything reads them. Values that a result takes from its dataset record or case
 * stay as they are there.
 */
export async function maskResults(
  masking: Masking | null,
  dtos: readonly (ResultFieldsDto | PatchResultDto)[],
): Promise<void> {
  if (masking) await inSlices(maskAll(masking, dtos));
}

function* maskAll(
  masking: Masking,
  dtos: readonly (ResultFieldsDto | PatchResultDto)[],
): Generator<void, void> {
  for (const dto of dtos) {
    for (const member of FREE_FORM) {
      if (dto[member] !== undefined)
        (dto as Record<string, unknown>)[member] = yield* masking.json(dto[member], member);
    }
    for (const score of Object.values(dto.scores ?? {})) {
      if (isJsonObject(score)) yield* maskScore(masking, score);
    }
  }
}

function* maskScore(masking: Masking, score: Record<string, unknown>): Generator<void, void> {
  const { comment, label, metadata } = score;
  if (typeof comment === 'string') score.comment = yield* masking.text(comment, 'comment');
  if (typeof label === 'string') score.label = (yield* masking.text(label, 'label')).slice(0, LABEL_MAX);
  if (metadata !== undefined) score.metadata = yield* masking.json(metadata, 'metadata');
}
