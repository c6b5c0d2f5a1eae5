# SPDX-License-Identifier: Apache-2.0
import random,sys,time
from ct import *
uf='exp exp2 expm1 log log1p sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma sigmoid floor round abs sign gelu silu mish'.split()
b2='+ - * /'.split()
def gen(r):
    nin=r.choice([1,1,2,3,8,20]); nin=min(nin,20)
    types=['f16','bf16','f32','f64','e4m3','i32','i64','u8']
    ty=[r.choice(types) if r.random()<.3 else None for _ in range(nin)]
    main=r.choice(types[:5]); ty=[t or main for t in ty]
    names=['x%d'%i for i in range(nin)]
    n=int(2**r.uniform(1,r.choice([6,9,11.9])))
    ops=r.sample(uf,r.choice([1,2,5,len(uf)])); bs=r.sample(b2,r.choice([1,2,4]))
    if r.random()<.2: bs=bs+['**']
    if r.random()<.2: bs=bs+['%']
    live=r.choice([2,6,30,200]); pr=r.choice([0,0,.01,.03,.1]); pu=r.choice([0,.3,.9])
    unread=[];s=[];size=0; phases=0
    cmb=r.random()<.15
    for i in range(n):
        pool=names[-live:]
        a=r.choice(pool)
        if r.random()<pr and phases<90:
            f=r.choice(['sum','max','argmax','var','mean','norm2']); e='%s(%s)'%(f,a); phases+=1
            if cmb: e='reduce((a, b) -> a + b * %s, %s, 0)'%(r.choice(['1','sin(a)','lgamma(b)','tan(a) * erfinv(b) + cos(b)']),a)
        elif r.random()<pu: e='%s(%s)'%(r.choice(ops),a)
        else:
            b=r.choice(pool); e='%s %s %s'%(a,r.choice(bs),b)
            if b in unread: unread.remove(b)
        if a in unread: unread.remove(a)
        t='t%d'%i; st='%s = %s'%(t,e); size+=len(st)+2
        if size>52000: break
        s.append(st); names.append(t); unread.append(t)
    k=0; u=unread
    while len(u)>1:
        nu=[]
        for i in range(0,len(u),8): s.append('q%d = '%k+' + '.join(u[i:i+8])); nu.append('q%d'%k); k+=1
        u=nu
    red=r.choice(['%s','%s','%s / sum(%s)','softmax(%s)','x0 + %s','sum(%s)','layer_norm(%s)'])
    prog='; '.join(s)+'; y = '+red.replace('%s',u[0] if u else names[-1])
    # unused inputs -> fine, they are simply not inputs
    import re
    used=[i for i in range(nin) if re.search(r'\bx%d\b'%i,prog)]
    cols=r.choice([1,7,64,1000,1024,4096,8192,50257,131072,1<<20])
    ax=r.choice(['in','in','out','all','mid','el'])
    tensors=[]
    for i in used:
        if ax=='in': sh=r.choice(['[*,%d]','[*,%d]','[%d]'])%cols if i else '[*,%d]'%cols
        elif ax=='out': sh=(r.choice(['[%d,1024]','[%d,1]']) if i else '[%d,1024]')%min(cols,65536)
        elif ax=='all': sh='[64,%d]'%cols
        elif ax=='mid': sh='[16,%d,333]'%min(cols,65536)
        else: sh='[*,%d]'%cols
        tensors.append('x%d=%s%s'%(i,ty[i],sh))
    extra={'in':[],'out':['--axes','0'],'all':['--axes','all'],'mid':['--axes','1'],'el':[]}[ax]
    return prog,tensors,extra
if __name__=='__main__':
    seed0=int(sys.argv[1]); secs=float(sys.argv[2]); t0=time.time(); worst=[]; n=0; errs={}
    seed=seed0
    while time.time()-t0<secs:
        r=random.Random(seed); p,t,x=gen(r)
        res=comp4(p,t,x,limit=60); n+=1
        if 'img' not in res: errs.setdefault(res.get('err','')[:60],[]).append(seed)
        worst.append((res['cpu'],seed,res['rss'],res.get('img'),res.get('sched'),len(p),res['st'])); worst.sort(reverse=True); worst=worst[:12]
        seed+=1
    print(n,'cases'); 
    for w in worst: print(w)
    print('max rss',max(w[2] for w in worst))
    for e,l in errs.items(): print(len(l),l[:3],repr(e))
