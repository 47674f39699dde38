import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsOptional,
  IsString,
  Length,
  Matches,
  MaxLength,
  registerDecorator,
} from 'class-validator';
import { IsJsonObject, IsOneOf, METADATA_MAX_BYTES, Nested } from '#platform/http';
import {
  COMPATIBILITY_MAX,
  DESCRIPTION_MAX,
  isTool,
  LICENSE_MAX,
  NAME_MAX,
  SKILL_NAME,
  TOOL_MAX,
  TOOLS_MAX,
} from './format/skill-members';
import { FILES_MAX } from './format/skill-files';
import { SKILL_MD_MAX } from './format/skill-md';

export const ENCODINGS = ['utf-8', 'base64'] as const;
export type Encoding = (typeof ENCODINGS)[number];

export const IsSkillName = () =>
  applyDecorators(
    IsString(),
    Length(1, NAME_MAX),
    Matches(SKILL_NAME, {
      message: '$property must be words of lower-case letters and digits, with single hyphens between them',
    }),
    ApiProperty({ minLength: 1, maxLength: NAME_MAX, pattern: SKILL_NAME.source }),
  );

/** A text that is not blank. */
export const IsTextOf = (max: number) =>
  applyDecorators(
    IsString(),
    Length(1, max),
    Matches(/\S/, { message: '$property may not be blank' }),
    ApiProperty({ minLength: 1, maxLength: max }),
  );

export const AreTools = (): PropertyDecorator => (target, property) => {
  ApiProperty({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: TOOL_MAX },
    maxItems: TOOLS_MAX,
    nullable: true,
    required: false,
  } as object)(target, property);
  registerDecorator({
    name: 'areTools',
    target: target.constructor,
    propertyName: String(property),
    validator: {
      validate: (tools: unknown) =>
        Array.isArray(tools) && tools.every((tool) => typeof tool === 'string' && isTool(tool)),
      defaultMessage: () =>
        `must be texts of 1 to ${TOOL_MAX} characters, with blanks and commas in parentheses alone`,
    },
  });
};

/** For what a patch cannot change, and is not to leave out in silence. @param instead what would be right */
export const IsNotPatched =
  (instead: string): PropertyDecorator =>
  (target, property) =>
    registerDecorator({
      name: 'isNotPatched',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown) => value === undefined,
        defaultMessage: () => `cannot be patched: ${instead}`,
      },
    });

/** A file besides SKILL.md. */
export class SkillFileInputDto {
  /** Relative to the directory of the skill, with `/` between names: `scripts/build.py`. */
  @IsString()
  @MaxLength(1024)
  path!: string;

  @IsString()
  content!: string;

  /** How `content` is to be read; `utf-8` unless given. */
  @IsOptional()
  @IsOneOf(ENCODINGS, { required: false, nullable: true })
  encoding?: Encoding | null;
}

/** What SKILL.md is written from, but for the name. */
export class SkillSpecDto {
  /** What the skill does, and when to use it. */
  @IsTextOf(DESCRIPTION_MAX)
  description!: string;

  /** Markdown: what follows the frontmatter of SKILL.md. */
  @IsString()
  @MaxLength(SKILL_MD_MAX)
  instructions!: string;

  @IsOptional()
  @IsTextOf(LICENSE_MAX)
  license?: string | null;

  /** What the skill needs, such as products, packages or network access. */
  @IsOptional()
  @IsTextOf(COMPATIBILITY_MAX)
  compatibility?: string | null;

  /** Such as `Bash(git:*)`; `allowed-tools` of SKILL.md. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  @AreTools()
  allowed_tools?: string[] | null;

  @IsOptional()
  @IsJsonObject({
    maxBytes: METADATA_MAX_BYTES,
    description: '`metadata` of SKILL.md, at most 16 KiB as JSON.',
  })
  metadata?: object | null;

  /** The files besides SKILL.md. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(FILES_MAX - 1)
  @Nested(() => SkillFileInputDto)
  files?: SkillFileInputDto[] | null;
}
