import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, Matches, MaxLength } from 'class-validator';
import { NotNull } from '#platform/http';
import type { AttributeFilter } from '../trace-list';

const ATTRIBUTES_MAX = 10;
const ATTRIBUTE_LENGTH_MAX = 1_000;

/** Up to the first colon is the key, which has a letter at least. */
const ATTRIBUTE = /^[^:]+:/;

/** The query parameter `attribute`: pairs `key:value`, all of which must hold. */
export const AttributePairs = () =>
  applyDecorators(
    ApiProperty({
      type: 'array',
      items: { type: 'string', pattern: ATTRIBUTE.source, maxLength: ATTRIBUTE_LENGTH_MAX },
      maxItems: ATTRIBUTES_MAX,
      required: false,
    }),
    NotNull(),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value)),
    ArrayMaxSize(ATTRIBUTES_MAX),
    Matches(ATTRIBUTE, { each: true, message: 'must be of the form key:value' }),
    MaxLength(ATTRIBUTE_LENGTH_MAX, { each: true }),
  );

/** The key ends at the first colon. */
export const toAttributeFilters = (pairs: readonly string[] | undefined): AttributeFilter[] | undefined =>
  pairs?.map((pair) => {
    const colon = pair.indexOf(':');
    return { key: pair.slice(0, colon), value: pair.slice(colon + 1) };
  });
