import { Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import { Public, RequireRole } from '#platform/auth';
import { RateLimited } from '#platform/rate-limit';
import type { Answer } from '#testing';

/** A controller whose routes have a separate rate-limit class. */
@Controller('store/v1/counted')
@RateLimited('store_listing')
class ListingController {
  @Get()
  @RequireRole('viewer')
  list(): { items: never[] } {
    return { items: [] };
  }

  @Post()
  @HttpCode(200)
  @RequireRole('editor')
  @RateLimited('proxy')
  forward(): { items: never[] } {
    return { items: [] };
  }

  @Get('public')
  @Public()
  about(): { items: never[] } {
    return { items: [] };
  }
}

@Module({ controllers: [ListingController] })
export class ListingModule {}

/** A path that every caller may read. */
export const ME = '/registry/v1/me';

/** Returns the status of a response, and its RateLimit header without the time. */
export const outcomeOf = ({ status, headers }: Answer): [number, string | undefined] => [
  status,
  headers.get('ratelimit')?.replace(/;t=([1-9]|[1-5]\d|60)$/, ''),
];

/** Sends requests one after another. */
export async function sendInTurn(times: number, send: (index: number) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let index = 0; index < times; index++) answers.push(await send(index));
  return answers;
}

export const statusesOf = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status);
