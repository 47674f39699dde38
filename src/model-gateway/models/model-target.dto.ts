import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsNumber, IsOptional, IsString, Length, Matches, Max, Min } from 'class-validator';
import { Nested, IsText, IsWholeNumber, ReadOnlyMembersOf } from '#platform/http';
import type { ModelTarget, TargetPrice } from './model.entity';

const PRICE_MAX_USD = 1_000_000;
const WEIGHT_MAX = 1_000;
const TOKENS_MAX = 100_000_000;
const UPSTREAM_MODEL_MAX = 255;

/** Declares a price in US dollars per million tokens. */
const IsPrice = ({ required = true } = {}) =>
  applyDecorators(
    IsNumber({ allowNaN: false, allowInfinity: false }),
    Min(0),
    Max(PRICE_MAX_USD),
    ApiProperty({
      type: 'number',
      format: 'double',
      minimum: 0,
      maximum: PRICE_MAX_USD,
      required,
      ...(!required && { nullable: true }),
    }),
  );

/** Declares a maximum number of tokens. */
const IsTokenLimit = () =>
  applyDecorators(
    IsOptional(),
    IsWholeNumber({ minimum: 1, maximum: TOKENS_MAX, format: 'int32', nullable: true, required: false }),
  );

/** The price of a target, in US dollars per million tokens. */
export class TargetPriceDto {
  @IsPrice()
  input_usd_per_million!: number;

  @IsPrice()
  output_usd_per_million!: number;

  /** For input that the provider read from its cache. Default: the price of input. */
  @IsOptional()
  @IsPrice({ required: false })
  cached_input_usd_per_million?: number | null;

  /** For input that the provider wrote to its cache. Default: the price of input. */
  @IsOptional()
  @IsPrice({ required: false })
  cache_write_usd_per_million?: number | null;
}

/** A model of a provider. */
@ReadOnlyMembersOf(() => ModelTargetViewDto)
export class ModelTargetDto {
  /** A provider in the same workspace. It must not be archived (otherwise 400). */
  @IsText(255)
  provider_id!: string;

  /** The name of the model at the provider. */
  @IsString()
  @Length(1, UPSTREAM_MODEL_MAX)
  @Matches(/^[^\p{Cc}\s]*$/u, { message: '$property must not contain spaces or control characters' })
  upstream_model!: string;

  /** The relative share of calls for this target, with the strategy `weighted`. */
  @IsOptional()
  @IsWholeNumber({
    minimum: 1,
    maximum: WEIGHT_MAX,
    format: 'int32',
    default: 1,
    nullable: true,
    required: false,
  })
  weight?: number | null;

  /** Overrides the price in the service's price table. */
  @IsOptional()
  @Nested(() => TargetPriceDto)
  price?: TargetPriceDto | null;

  /** Tokens of the largest request that the model accepts. Budgets reserve them for requests whose tokens are unknown. */
  @IsTokenLimit()
  max_input_tokens?: number | null;

  /** Tokens of the model's largest response. Budgets reserve them for requests without `max_tokens`. */
  @IsTokenLimit()
  max_output_tokens?: number | null;
}

export const TARGET_STATES = ['active', 'cooling_down'] as const;
export type TargetState = (typeof TARGET_STATES)[number];

/** A target and its state. */
export class ModelTargetViewDto extends ModelTargetDto {
  /**
   * `cooling_down` after three failures in a row, until the target answers. Calls then try all other targets first, and this one
   * again every `cooldown_s`.
   */
  @ApiProperty({ enum: TARGET_STATES })
  state!: TargetState;

  /** When the target last failed. Null if it has not failed since the model and the provider were changed. */
  last_error_at!: Date | null;

  /** True if the provider was deleted, else absent. */
  erased?: boolean;
}

/** Returns a target in its stored form. */
export const storedTarget = ({
  provider_id,
  upstream_model,
  weight,
  price,
  max_input_tokens,
  max_output_tokens,
}: ModelTargetDto): ModelTarget => ({
  provider_id,
  upstream_model,
  weight: weight ?? 1,
  price: price ? storedPrice(price) : null,
  max_input_tokens: max_input_tokens ?? null,
  max_output_tokens: max_output_tokens ?? null,
});

/** Returns a price without members that are null. */
const storedPrice = (price: TargetPriceDto): TargetPrice =>
  Object.fromEntries(
    Object.entries(price).filter(([, usd]) => usd !== null && usd !== undefined),
  ) as unknown as TargetPrice;
