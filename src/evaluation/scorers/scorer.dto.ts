import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsObject, IsOptional, IsString, MaxLength } from 'class-validator';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  IsTags,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
  IsOptionalText,
  IsText,
} from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import type { AcquiredFromDto } from '../../resources';
import {
  DEFINITION_SCHEMAS,
  DEFINITION_VARIANTS,
  SCORER_KINDS,
  type ScorerKind,
} from './definitions/definition.forms';
import { type Grain, GRAINS } from './scorer.entity';

/** A JSON object. `ScorerService.checkDefinition` checks its form by the kind of the scorer. */
const IsDefinition =
  ({ description = 'Depends', ...options }: ApiPropertyOptions = {}): PropertyDecorator =>
  (target, property) => {
    IsObject({ message: 'must be an object' })(target, property);
    ApiProperty({
      ...options,
      anyOf: [...DEFINITION_SCHEMAS],
      description:
        `${description} on the kind: a script or checks for \`code\`, a question to a language model or a classifier ` +
        `for \`llm_judge\`, and a question to people for \`human\`. Unknown members are rejected.`,
    } as ApiPropertyOptions)(target, property);
  };

@ReadOnlyMembersOf(() => ScorerDto)
export class CreateScorerDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's scorers that are not archived. Results show its scores under this name. */
  @IsText(255)
  name!: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  description?: string | null;

  @IsOneOf(SCORER_KINDS, { description: 'Cannot be changed later.', variants: DEFINITION_VARIANTS })
  scorer_kind!: ScorerKind;

  /** Whether each score is about a trace or a session, unless a request to score specifies another grain. */
  @IsOptional()
  @IsOneOf(GRAINS, { required: false, default: 'trace' })
  grain?: Grain | null;

  @IsDefinition()
  definition!: object;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). `definition` is replaced as a whole. A change of `definition` or `grain` creates a new version. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ScorerDto)
export class PatchScorerDto {
  @IsImmutable('Must be the current workspace, because a scorer cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  scorer_id?: string;

  @IsOptionalText(255)
  name?: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  description?: string | null;

  @NotNull()
  @IsOneOf(SCORER_KINDS, { required: false, description: 'Immutable (422 for another value).' })
  scorer_kind?: ScorerKind;

  @NotNull()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain;

  @NotNull()
  @IsDefinition({ required: false, description: 'The complete new definition, which depends' })
  definition?: object;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the current metadata. Null clears it.' })
  metadata?: object | null;
}

export class ScorerListQueryDto extends NamedListQueryDto {
  /** Words or word prefixes in the name or description. */
  @IsOptionalText(1000, 0)
  q?: string;

  /** The exact name. */
  @IsOptionalText(255, 0)
  name?: string;

  /** Scorers with this tag. */
  @IsOptionalText(255)
  tag?: string;

  @IsOptional()
  @IsOneOf(SCORER_KINDS, { required: false })
  scorer_kind?: ScorerKind;

  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain;
}

/** How one version of a scorer scores. It never changes. */
export class ScorerVersionDto {
  scorer_id!: string;
  workspace_id!: string;
  /** Rises only when `definition` or `grain` changes. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  scorer_version!: number;
  version_id!: string;
  @ApiProperty({ enum: [...SCORER_KINDS] })
  scorer_kind!: ScorerKind;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  /** Exactly as it was sent. */
  @ApiProperty({ anyOf: [...DEFINITION_SCHEMAS] })
  definition!: object;
  created_at!: Date;
  created_by!: string;
}

/** A definition of how traces or sessions are scored. */
export class ScorerDto extends ScorerVersionDto {
  name!: string;
  description!: string | null;
  tags!: string[];
  @AnyJsonObject()
  metadata!: object;
  updated_at!: Date;
  archived_at!: Date | null;
  /** The store item and release that the scorer is a copy of. Null for a scorer that was not acquired from the store. */
  acquired_from!: AcquiredFromDto | null;
}

export class ScorerPageDto extends PageOf(ScorerDto) {}

export class ScorerVersionPageDto extends PageOf(ScorerVersionDto) {}

export const toScorerVersionDto = viewOf(ScorerVersionDto);

export const toScorerDto = viewOf(ScorerDto);
