import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { RATE_LIMIT_CLASS, type RateLimitClass } from '#platform/rate-limit';
import type { AccessRule, Area } from '#platform/scope';
import { ACCESS_RULE, ALLOWED_BY, WORKSPACE_REQUIRED } from './access.decorator';
import type { ServiceRequest } from '#platform/http';
import { type Access, Admission } from './admission';
import { NAME_PREFIX, PathNames } from './path-names';

/** Admits the requests of controllers by the decorators of their routes, and finds the resources that their paths name. */
@Injectable()
export class AdmissionGuard implements CanActivate {
  /** By class and handler, because reading the decorators takes longer than most checks. */
  private readonly declared = new WeakMap<object, Map<object, Access>>();

  constructor(
    private readonly reflector: Reflector,
    private readonly admission: Admission,
    private readonly names: PathNames,
  ) {}

  canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<ServiceRequest>();
    const admitted = this.admission.admit(request, http.getResponse(), this.accessOf(context));
    return hasName(request) ? admitted.then(() => this.names.resolve(request)).then(() => true) : admitted;
  }

  private accessOf(context: ExecutionContext): Access {
    const [handler, type] = [context.getHandler(), context.getClass()];
    let ofType = this.declared.get(type);
    if (!ofType) this.declared.set(type, (ofType = new Map<object, Access>()));
    let access = ofType.get(handler);
    if (!access) ofType.set(handler, (access = this.readAccess([handler, type])));
    return access;
  }

  private readAccess(targets: Parameters<Reflector['getAllAndOverride']>[1]): Access {
    return {
      rule: this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, targets),
      isInWorkspace:
        this.reflector.getAllAndOverride<boolean | undefined>(WORKSPACE_REQUIRED, targets) === true,
      areas: this.reflector.getAllAndOverride<readonly Area[] | undefined>(ALLOWED_BY, targets),
      rateClass: this.reflector.getAllAndOverride<RateLimitClass | undefined>(RATE_LIMIT_CLASS, targets),
    };
  }
}

function hasName({ params }: ServiceRequest): boolean {
  for (const parameter in params) {
    if (String(params[parameter]).startsWith(NAME_PREFIX)) return true;
  }
  return false;
}
