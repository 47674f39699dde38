import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { registerDecorator, type ValidationArguments } from 'class-validator';
import { OwnedDto } from './owned.dto';
import {
  isLabel,
  isVersionLabel,
  LABEL_MAX,
  LABEL_PATTERN,
  LABEL_RULE,
  type VersionName,
} from './version-name';
import { ORDINAL_MAX } from './version-table.repository';

/** The largest number of labels of a resource, and of protected labels of an organization. */
export const LABELS_MAX = 100;

const LABEL_SCHEMA = { type: 'string', maxLength: LABEL_MAX, pattern: LABEL_PATTERN.source };

/** Tells whether a value names a version. */
export const isVersionName = (value: unknown): value is VersionName =>
  typeof value === 'string'
    ? isVersionLabel(value)
    : Number.isInteger(value) && (value as number) >= 1 && (value as number) <= ORDINAL_MAX;

/** What the name of a version must be, for problem details. */
export const VERSION_NAME_RULE = `must be the number of a version, from 1 to ${ORDINAL_MAX}, a label, or \`latest\``;

/** Declares a member that names a version by its number, by a label, or as `latest`. */
export const IsVersionName = ({ isRequired = false } = {}): PropertyDecorator =>
  applyDecorators(
    ApiProperty({
      oneOf: [
        { type: 'integer', format: 'int32', minimum: 1, maximum: ORDINAL_MAX },
        LABEL_SCHEMA,
        ...(isRequired ? [] : [{ type: 'null' }]),
      ],
      nullable: false, // null is one of the types
      required: isRequired,
    } as ApiPropertyOptions),
    isValid('isVersionName', isVersionName, () => VERSION_NAME_RULE),
  );

/** Declares a list of labels. */
export const IsLabels = (): PropertyDecorator =>
  applyDecorators(
    ApiProperty({
      type: 'array',
      items: LABEL_SCHEMA,
      maxItems: LABELS_MAX,
      nullable: true,
      required: false,
    } as ApiPropertyOptions),
    isValid('isLabels', (value) => faultOfLabels(value) === null, faultOfLabels),
  );

function faultOfLabels(value: unknown): string | null {
  if (!Array.isArray(value)) return 'must be an array';
  if (value.length > LABELS_MAX) return `must have at most ${LABELS_MAX} elements`;
  const wrong = value.findIndex((one) => !isLabel(one));
  return wrong < 0 ? null : `must contain only labels: /${wrong} ${LABEL_RULE}`;
}

const isValid =
  (
    name: string,
    validate: (value: unknown) => boolean,
    detailOf: (value: unknown) => string | null,
  ): PropertyDecorator =>
  (target, property) =>
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(property),
      validator: { validate, defaultMessage: ({ value }: ValidationArguments) => detailOf(value) ?? '' },
    });

/** The version that a label points to. */
export class PutLabelDto {
  /** The number of a version, another label of the resource, or `latest`. Stored as a number. */
  @IsVersionName({ isRequired: true })
  version_ordinal!: VersionName;
}

/** The members of every resource whose versions can have labels. */
export class LabelledDto extends OwnedDto {
  /** The labels of versions, each with the number of the version that it points to. Changed with `PUT …/labels/{label}`. */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer', format: 'int32', minimum: 1 },
  } as ApiPropertyOptions)
  labels!: Record<string, number>;
}
