import { isJsonObject } from '#platform/json';
import type { Masking } from '#platform/masking';
import type { PatchResultDto, ResultFieldsDto } from './result.dto';

/** The free-form members of a result. */
const FREE_FORM = ['input', 'expected', 'output', 'error', 'metadata', 'tags'] as const;
const LABEL_MAX = 255;

/**
 * Masks the texts of a result in place, before anything reads them. Values that the result takes from its dataset record or
 * case stay as they are there. Returns the result.
 */
export function maskResult<Dto extends ResultFieldsDto | PatchResultDto>(
  masking: Masking | null,
  dto: Dto,
): Dto {
  if (!masking) return dto;
  for (const member of FREE_FORM) {
    if (dto[member] !== undefined)
      (dto as Record<string, unknown>)[member] = masking.json(dto[member], member);
  }
  for (const score of Object.values(dto.scores ?? {})) if (isJsonObject(score)) maskScore(masking, score);
  return dto;
}

function maskScore(masking: Masking, score: Record<string, unknown>): void {
  const { comment, label, metadata } = score;
  if (typeof comment === 'string') score.comment = masking.text(comment, 'comment');
  if (typeof label === 'string') score.label = masking.text(label, 'label').slice(0, LABEL_MAX);
  if (metadata !== undefined) score.metadata = masking.json(metadata, 'metadata');
}
