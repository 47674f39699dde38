import { patchMetadata } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { PatchRecordDto, RecordFieldsDto } from './record.dto';
import { CONTENT_FIELDS, type RecordEntity } from './record.entity';

/** The content of a record to write: free-form values, parsed or as a `RawJson`, and optional members with their defaults. */
export type RecordContent = Record<'input' | 'expected' | 'metadata', unknown> &
  Pick<RecordEntity, 'tags' | 'label' | 'category' | 'source_kind' | 'source_ref' | 'external_id'>;

export const contentOf = (dto: RecordFieldsDto): RecordContent => ({
  input: dto.input,
  expected: dto.expected ?? null,
  metadata: dto.metadata ?? {},
  tags: dto.tags ?? [],
  label: dto.label ?? null,
  category: dto.category ?? null,
  source_kind: dto.source_kind ?? 'manual',
  source_ref: dto.source_ref ?? null,
  external_id: dto.external_id ?? null,
});

/** Returns the content of a record after a patch. */
export const patchedContent = (row: RecordEntity, dto: PatchRecordDto): RecordContent => ({
  input: dto.input === undefined ? row.input : dto.input,
  expected: dto.expected === undefined ? row.expected : dto.expected,
  metadata: patchMetadata(row.metadata, dto.metadata),
  tags: dto.tags === undefined ? row.tags : (dto.tags ?? []),
  label: dto.label === undefined ? row.label : dto.label,
  category: dto.category === undefined ? row.category : dto.category,
  source_kind: dto.source_kind ?? row.source_kind,
  source_ref: dto.source_ref === undefined ? row.source_ref : dto.source_ref,
  external_id: dto.external_id === undefined ? row.external_id : dto.external_id,
});

/** Whether a record already has this content. The order of members counts, because responses repeat it. */
export const sameContent = (row: RecordEntity, content: RecordContent): boolean =>
  CONTENT_FIELDS.every((member) => toRawJson(row[member]).text === toRawJson(content[member]).text);

/** Returns the next version of a record, or the first version of a new one. */
export const versionOf = (content: RecordContent, before?: RecordEntity) => ({
  dataset_record_id: before?.dataset_record_id ?? newId('rec'),
  version: (before?.version ?? 0) + 1,
  version_id: newId('ver'),
  ...content,
});
