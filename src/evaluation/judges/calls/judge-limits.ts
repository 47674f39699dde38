import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { JudgeLimit } from './judge-limit';
import { JudgeLimitRepository } from './judge-limit.repository';

/** Models whose limits a process keeps in mind; of one that is forgotten they are read again. */
const LIMITS_MAX = 1_000;

/** The limits of all judges, one for each backend and model. */
@Injectable()
export class JudgeLimits {
  private readonly limits = new LRUCache<string, JudgeLimit>({ max: LIMITS_MAX });

  constructor(private readonly repository: JudgeLimitRepository) {}

  of(backend: string, model: string): JudgeLimit {
    const key = `${backend}:${model}`;
    let limit = this.limits.get(key);
    if (!limit) {
      limit = new JudgeLimit(key, randomUUID(), this.repository);
      this.limits.set(key, limit);
    }
    return limit;
  }
}
