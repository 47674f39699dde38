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
} from '../format/skill-members';
import { FILES_MAX } from '../format/skill-files';
import { SKILL_MD_MAX } from '../format/skill-md';

export const ENCODINGS = ['utf-8', 'base64'] as const;
export type Encoding = (typeof ENCODINGS)[number];

export const IsSkillName = () =>
  applyDecorators(
    IsString(),
    Length(1, NAME_MAX),
    Matches(SKILL_NAME, {
      message: '$property must be words of lower-case letters and digits with single hyphens between them',
    }),
    ApiProperty({ minLength: 1, maxLength: NAME_MAX, pattern: SKILL_NAME.source }),
  );

/** A string that is not blank. */
const IsTextOf = (max: number) =>
  applyDecorators(
    IsString(),
    Length(1, max),
    Matches(/\S/, { message: '$property must not be blank' }),
    ApiProperty({ minLength: 1, maxLength: max }),
  );

const AreTools = (): PropertyDecorator => (target, property) => {
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
        `must be strings of 1 to ${TOOL_MAX} characters, with spaces and commas only in parentheses`,
    },
  });
};

/** Rejects a member that a patch cannot change. @param instead what to do instead */
export const IsNotPatched =
  (instead: string): PropertyDecorator =>
  (target, property) =>
    registerDecorator({
      name: 'isNotPatched',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown) => value === undefined,
        defaultMessage: () => `cannot be patched. Instead, ${instead}`,
      },
    });

/** A file other than SKILL.md. */
export class SkillFileInputDto {
  /** The path relative to the directory of the skill, such as `scripts/build.py`. */
  @IsString()
  @MaxLength(1024)
  path!: string;

  @IsString()
  content!: string;

  /** The encoding of `content`. Defaults to `utf-8`. */
  @IsOptional()
  @IsOneOf(ENCODINGS, { required: false, nullable: true })
  encoding?: Encoding | null;
}

/** The members of a SKILL.md other than the name, and the other files. */
export class SkillSpecDto {
  /** What the skill does, and when to use it. */
  @IsTextOf(DESCRIPTION_MAX)
  description!: string;

  /** The Markdown after the frontmatter of SKILL.md. */
  @IsString()
  @MaxLength(SKILL_MD_MAX)
  instructions!: string;

  @IsOptional()
  @IsTextOf(LICENSE_MAX)
  license?: string | null;

  /** Requirements of the skill, such as products, packages or network access. */
  @IsOptional()
  @IsTextOf(COMPATIBILITY_MAX)
  compatibility?: string | null;

  /** `allowed-tools` of SKILL.md, such as `Bash(git:*)`. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  @AreTools()
  allowed_tools?: string[] | null;

  @IsOptional()
  @IsJsonObject({
    isRead: true,
    maxBytes: METADATA_MAX_BYTES,
    description: '`metadata` of SKILL.md, at most 16 KiB as JSON.',
  })
  metadata?: object | null;

  /** The files other than SKILL.md. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(FILES_MAX - 1)
  @Nested(() => SkillFileInputDto)
  files?: SkillFileInputDto[] | null;
}
