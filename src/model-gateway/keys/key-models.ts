import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { registerDecorator, type ValidationArguments } from 'class-validator';
import { isJsonObject } from '#platform/json';

const MODELS_MAX = 1_000;
const REFERENCE_MAX = 255;

/** A model in a request body: its name or id, or an object with its id, as in responses. */
export type ModelReference = string | { model_id: string; name?: string };

const isText = (value: unknown): boolean =>
  typeof value === 'string' && value.length >= 1 && value.length <= REFERENCE_MAX;

const isReference = (value: unknown): boolean =>
  isText(value) ||
  (isJsonObject(value) &&
    isText(value.model_id) &&
    (value.name === undefined || isText(value.name)) &&
    Object.keys(value).every((member) => member === 'model_id' || member === 'name'));

function faultOf(models: unknown): string | null {
  if (!Array.isArray(models)) return 'must be an array';
  if (models.length < 1 || models.length > MODELS_MAX) return `must have 1 to ${MODELS_MAX} elements`;
  return models.every(isReference)
    ? null
    : 'must contain names or ids of models, or objects with `model_id` and `name`, as in responses';
}

/** Declares the models that a key may call. Combine it with `@IsOptional()`. */
export const IsKeyModels = () =>
  applyDecorators(
    ApiProperty({
      type: 'array',
      items: {
        anyOf: [
          { type: 'string', minLength: 1, maxLength: REFERENCE_MAX },
          {
            type: 'object',
            properties: { model_id: { type: 'string' }, name: { type: 'string' } },
            required: ['model_id'],
            additionalProperties: false,
          },
        ],
      },
      minItems: 1,
      maxItems: MODELS_MAX,
      nullable: true,
      required: false,
    } as ApiPropertyOptions),
    ((target: object, property: string) =>
      registerDecorator({
        name: 'isKeyModels',
        target: target.constructor,
        propertyName: property,
        validator: {
          validate: (value: unknown) => faultOf(value) === null,
          defaultMessage: ({ value }: ValidationArguments) => faultOf(value) ?? '',
        },
      })) as PropertyDecorator,
  );

/** Returns the name or id in a reference. */
export const referenceOf = (model: ModelReference): string =>
  typeof model === 'string' ? model : model.model_id;
