# AMQP raw socket cases. Run the same file against a reference RabbitMQ 4.x and against our broker; the answers must agree.
import os,socket,struct,time
def rf(s):
    h=b''
    while len(h)<7:
        d=s.recv(7-len(h))
        if not d: return None
        h+=d
    t,c,l=struct.unpack('>BHI',h); b=b''
    while len(b)<l+1:
        d=s.recv(l+1-len(b))
        if not d: return None
        b+=d
    return t,c,b[:-1]
def wf(s,t,c,b,end=b'\xce'): s.sendall(struct.pack('>BHI',t,c,len(b))+b+end)
def ss(x): x=x.encode() if isinstance(x,str) else x; return bytes([len(x)])+x
def ls(x): return struct.pack('>I',len(x))+x
def M(c,m,b=b''): return struct.pack('>HH',c,m)+b
def conn(fm=131072,cm=2047,openv=True):
    s=socket.create_connection(('127.0.0.1',int(os.environ.get("MILLRACE_TEST_PORT","5672")))); s.settimeout(4); s.sendall(b'AMQP\0\0\x09\x01'); rf(s)
    caps=b''.join(ss(k)+b't\x01' for k in ('publisher_confirms','consumer_cancel_notify','connection.blocked','authentication_failure_close','basic.nack'))
    t=ss('capabilities')+b'F'+ls(caps)
    wf(s,1,0,M(10,11,ls(t)+ss('PLAIN')+ls(b'\0guest\0guest')+ss('en_US'))); rf(s); wf(s,1,0,M(10,31,struct.pack('>HIH',cm,fm,0)))
    if openv: wf(s,1,0,M(10,40,ss('/')+b'\0\0')); rf(s)
    return s
def chan(s,n=1): wf(s,1,n,M(20,10,b'\0')); return rf(s)
def dec(f):
    if f is None: return 'EOF'
    t,c,b=f
    if t==1:
        k,m=struct.unpack('>HH',b[:4])
        if (k,m) in((10,50),(20,40)):
            code,=struct.unpack('>H',b[4:6]); n=b[6]; x=b[7:7+n].decode(); ck,cmm=struct.unpack('>HH',b[7+n:11+n]); return f"{'CONN' if k==10 else 'CHAN'} {code} {x!r} class/method={ck}.{cmm} on channel {c}"
        return f'method {k}.{m} ch{c} {b[4:]!r}'
    return f
def one(name,fn,n=3,opench=True,**k):
    s=conn(**k)
    if opench: chan(s)
    out=[]
    try:
        fn(s)
        for _ in range(n):
            f=rf(s); out.append(dec(f))
            if f is None or 'CONN' in str(out[-1]) or 'CHAN' in str(out[-1]): break
    except Exception as e: out.append(repr(e))
    print('*',name,'->',out); s.close()
def pub(s,ex='',rk='q',props=b'\0\0',body=b'x',mand=0,ch=1,klass=60,size=None):
    wf(s,1,ch,M(60,40,b'\0\0'+ss(ex)+ss(rk)+bytes([mand]))); wf(s,2,ch,struct.pack('>HHQ',klass,0,len(body) if size is None else size)+props)
    if body: wf(s,3,ch,body)
def decl(s,q,bits=0,args=b''): wf(s,1,1,M(50,10,b'\0\0'+ss(q)+bytes([bits])+ls(args))); return rf(s)
one('publish missing exch',lambda s:pub(s,'nox'))
def internal(s):
    wf(s,1,1,M(40,10,b'\0\0'+ss('p_int2')+ss('direct')+bytes([8])+ls(b''))); rf(s); pub(s,'p_int2')
one('publish internal',internal)
one('ack unknown',lambda s:wf(s,1,1,M(60,80,struct.pack('>Q',99)+b'\0')))
one('ack 0 non-multiple',lambda s:wf(s,1,1,M(60,80,struct.pack('>Q',0)+b'\0')))
one('ack 0 multiple (none outstanding)',lambda s:wf(s,1,1,M(60,80,struct.pack('>Q',0)+b'\1')),n=1)
one('reject unknown',lambda s:wf(s,1,1,M(60,90,struct.pack('>Q',99)+b'\0')))
one('nack unknown',lambda s:wf(s,1,1,M(60,120,struct.pack('>Q',99)+b'\0')))
one('bad expiration',lambda s:pub(s,props=struct.pack('>H',0x0100)+ss('abc')))
one('neg expiration',lambda s:pub(s,props=struct.pack('>H',0x0100)+ss('-1')))
one('huge expiration',lambda s:pub(s,props=struct.pack('>H',0x0100)+ss('99999999999')))
one('bad user_id',lambda s:pub(s,props=struct.pack('>H',0x0010)+ss('joe')))
one('bad CC',lambda s:pub(s,props=struct.pack('>H',0x2000)+ls(ss('CC')+b'S'+ls(b'str'))))
def dup(s):
    decl(s,'p_dup',2) # exclusive? bits: passive1 durable2 excl4 autodel8
    for _ in range(2): wf(s,1,1,M(60,20,b'\0\0'+ss('p_dup')+ss('t1')+b'\0'+ls(b'')))
one('dup consumer tag',dup)
one('reply-to no consumer',lambda s:pub(s,props=struct.pack('>H',0x0200)+ss('amq.rabbitmq.reply-to')))
one('bad frame end',lambda s:wf(s,1,1,M(20,20,b'\1'),b'\x00'))
one('frame too large',lambda s:wf(s,3,1,b'x'*5000),fm=4096)
one('frame type 7',lambda s:wf(s,7,1,b'x'))
one('heartbeat on ch1',lambda s:wf(s,8,1,b''),n=1)
one('unknown class 99',lambda s:wf(s,1,1,M(99,10)))
one('unknown method 60.99',lambda s:wf(s,1,1,M(60,99)))
one('truncated method',lambda s:wf(s,1,1,M(50,10,b'\0')))
one('method on unopened channel',lambda s:wf(s,1,5,M(50,10,b'\0\0'+ss('q')+b'\0'+ls(b''))))
one('channel.open twice',lambda s:chan(s) and wf(s,1,1,M(20,10,b'\0')),n=2)
one('channel beyond max',lambda s:wf(s,1,12,M(20,10,b'\0')),cm=10)
one('header when none expected',lambda s:wf(s,2,1,struct.pack('>HHQ',60,0,1)+b'\0\0'))
one('body when none expected',lambda s:wf(s,3,1,b'x'))
def mm(s):
    wf(s,1,1,M(60,40,b'\0\0'+ss('')+ss('q')+b'\0')); wf(s,1,1,M(20,20,b'\1'))
one('method when header expected',mm)
one('header wrong class',lambda s:pub(s,klass=50))
one('body overflow',lambda s:pub(s,size=0,body=b'xx'))
one('too big 16MiB+1',lambda s:pub(s,size=16777217,body=b''))
one('too big 128MiB+1 ',lambda s:pub(s,size=134217729,body=b''))
one('immediate flag',lambda s:pub(s,mand=2))
one('mandatory unroutable',lambda s:pub(s,rk='no_such_q',mand=1),n=3)
def mc(s):
    wf(s,1,1,M(85,10,b'\0')); rf(s); pub(s,rk='no_such_q',mand=1)
one('mandatory unroutable in confirm mode',mc,n=4)
def unr(s):
    wf(s,1,1,M(85,10,b'\0')); rf(s); pub(s,rk='no_such_q')
one('unroutable confirm',unr,n=1)
one('channel.flow active=false',lambda s:wf(s,1,1,M(20,20,b'\0')),n=1)
one('access.request',lambda s:wf(s,1,1,M(30,10,ss('/data')+b'\x1f')),n=1)
one('basic.recover requeue',lambda s:wf(s,1,1,M(60,110,b'\1')),n=1)
one('basic.recover-async requeue',lambda s:wf(s,1,1,M(60,100,b'\1')),n=1)
one('tx.rollback',lambda s:wf(s,1,1,M(90,30)),n=1)
one('update-secret',lambda s:wf(s,1,0,M(10,70,ls(b'x')+ss('r'))),n=1)
one('connection.open twice',lambda s:wf(s,1,0,M(10,40,ss('/')+b'\0\0')),n=1)
one('bad vhost',lambda s:wf(s,1,0,M(10,40,ss('nope')+b'\0\0')),n=1,opench=False,openv=False)
one('tune frame_max 4095',lambda s:wf(s,1,0,M(10,40,ss('/')+b'\0\0')),n=1,opench=False,openv=False,fm=4095)
one('tune frame_max 262144',lambda s:wf(s,1,0,M(10,40,ss('/')+b'\0\0')),n=1,opench=False,openv=False,fm=262144)
one('tune channel_max 4000',lambda s:wf(s,1,0,M(10,40,ss('/')+b'\0\0')),n=1,opench=False,openv=False,cm=4000)
one('tune channel_max 0',lambda s:wf(s,1,0,M(10,40,ss('/')+b'\0\0')),n=1,opench=False,openv=False,cm=0)
one('tune frame_max 0',lambda s:wf(s,1,0,M(10,40,ss('/')+b'\0\0')),n=1,opench=False,openv=False,fm=0)
def cancelq(s):
    decl(s,'p_can',0); wf(s,1,1,M(60,20,b'\0\0'+ss('p_can')+ss('tt')+b'\0'+ls(b''))); rf(s); wf(s,1,1,M(50,40,b'\0\0'+ss('p_can')+b'\0'))
one('queue delete -> basic.cancel order',cancelq,n=2)
def ch_after(s):
    wf(s,1,1,M(60,10+60,b'\0\0'+ss('nonexist')+b'\1')); f=rf(s); print('   ',dec(f)); wf(s,1,1,M(20,10,b'\0'))
one('after channel.close: frames ignored until close-ok',ch_after,n=1)

