import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { problem } from '#platform/problem';
import { monthOf, remainingOf } from '../budgets/month';
import { SpendRepository } from '../budgets/spend.repository';
import { type CurrentGatewayKeyDto, toGatewayKeyDto } from './gateway-key.dto';
import { GatewayKeyRepository } from './gateway-key.repository';

/** Shows a gateway key its limits and the amount it has spent. */
@Injectable()
export class CurrentKeyService {
  constructor(
    private readonly keys: GatewayKeyRepository,
    private readonly spend: SpendRepository,
  ) {}

  /** Returns the caller's gateway key. Errors: 404 for a caller that is not a gateway key. */
  async get(scope: OrgScope): Promise<CurrentGatewayKeyDto> {
    const row = await this.keys.readOf(scope, scope.principalId);
    if (!row) throw problem.notFound('gateway key', '', 'You are not calling with a gateway key.');
    const month = monthOf(new Date());
    const spent_usd = await this.spend.spentBy(row.service_account_id, month);
    const remaining_usd = remainingOf(row.monthly_budget_usd, spent_usd);
    return { ...toGatewayKeyDto(row), month, spent_usd, remaining_usd };
  }
}
