# AMQP behaviours through pika (PYTHONPATH to pika). Run the same file against a reference RabbitMQ 4.x and against our broker; the answers must agree.
import os,pika,time,json
P=pika.ConnectionParameters('127.0.0.1',int(os.environ.get('MILLRACE_TEST_PORT','5672')))
c=pika.BlockingConnection(P); ch=c.channel()
def show(q,label):
    time.sleep(.25)
    m,p,b=ch.basic_get(q,auto_ack=True)
    print(label,m and (m.exchange,m.routing_key,m.redelivered,m.message_count), p and {k:v for k,v in vars(p).items() if v is not None}, b)
for q in ('d1','dl','d2','d3'): ch.queue_delete(q)
ch.queue_declare('dl')
ch.queue_declare('d1',arguments={'x-dead-letter-exchange':'','x-dead-letter-routing-key':'dl','x-message-ttl':50})
ch.basic_publish('','d1',b'ttl-q'); show('dl','per-queue ttl')
ch.basic_publish('','d1',b'ttl-m',pika.BasicProperties(expiration='20',headers={'CC':['other'],'BCC':['dl2']})); show('dl','per-message ttl')
ch.queue_declare('d2',arguments={'x-dead-letter-exchange':'','x-dead-letter-routing-key':'dl','x-max-length':1})
ch.basic_publish('','d2',b'a'); ch.basic_publish('','d2',b'b'); show('dl','maxlen drop-head (a expected)')
m,p,b=ch.basic_get('d2'); ch.basic_reject(m.delivery_tag,requeue=False); show('dl','rejected')
ch.queue_declare('d3',arguments={'x-dead-letter-exchange':'','x-dead-letter-routing-key':'dl','x-max-length':1,'x-overflow':'reject-publish-dlx'})
ch.confirm_delivery()
for i in range(2):
    try: ch.basic_publish('','d3',b'%d'%i); print('confirmed',i)
    except Exception as e: print('nack',type(e),e)
show('dl','reject-publish-dlx')
# double dead letter, count
ch.queue_declare('d4',arguments={'x-dead-letter-exchange':'','x-dead-letter-routing-key':'d5','x-message-ttl':20})
ch.queue_declare('d5',arguments={'x-dead-letter-exchange':'','x-dead-letter-routing-key':'d6'})
ch.queue_declare('d6')
ch.basic_publish('','d4',b'x'); time.sleep(.2); m,p,b=ch.basic_get('d5'); ch.basic_nack(m.delivery_tag,requeue=False); show('d6','two hops')
# quorum delivery count
ch.queue_declare('q1',durable=True,arguments={'x-queue-type':'quorum','x-delivery-limit':1,'x-dead-letter-exchange':'','x-dead-letter-routing-key':'d6'})
ch.basic_publish('','q1',b'z'); time.sleep(.2)
for i in range(3):
    m,p,b=ch.basic_get('q1'); print('quorum get',i,m and m.redelivered,p and p.headers); 
    if m: ch.basic_nack(m.delivery_tag,requeue=True); time.sleep(.2)
show('d6','delivery limit')
# headers exchange
ch.exchange_declare('hx','headers'); 
ch.queue_declare('h1'); 
def hx(args,hdr):
    ch.queue_purge('h1'); ch.queue_bind('h1','hx','',args); 
    ch.basic_publish('hx','zz',b'1',pika.BasicProperties(headers=hdr)); time.sleep(.05); n=ch.queue_declare('h1',passive=True).method.message_count; ch.queue_unbind('h1','hx','',args); return n
for a,h in [({'x-match':'all','a':1},{'a':1,'b':2}),({'x-match':'all','a':1,'b':2},{'a':1}),({'x-match':'any','a':1,'b':2},{'a':1}),({'x-match':'all'},{}),({'x-match':'any'},{}),({'x-match':'all','x-a':1,'b':1},{'b':1}),({'x-match':'all-with-x','x-a':1,'b':1},{'b':1}),({'x-match':'any-with-x','x-a':1},{'x-a':1}),({'x-match':'any','x-a':1},{'x-a':1}),({'a':None},{'a':5}),({'a':1},{'a':'1'}),({},{'q':1}),({},{})]: print('headers',a,h,'->',hx(a,h))
# topic
ch.exchange_declare('tx','topic'); ch.queue_declare('t1')
def tx(k,rk):
    ch.queue_purge('t1'); ch.queue_bind('t1','tx',k); ch.basic_publish('tx',rk,b'1'); time.sleep(.03); n=ch.queue_declare('t1',passive=True).method.message_count; ch.queue_unbind('t1','tx',k); return n
for k,r in [('#',''),('*',''),('a.#','a'),('a.#','a.b.c'),('a.*','a'),('*.b','a.b'),('#.b','b'),('a.#.b','a.b'),('a.#.b','a.x.y.b'),('a.*.b','a..b'),('#.#','a'),('*.*','a.'),('a.b','a.b.'),('','')]: print('topic',k,r,'->',tx(k,r))
# priority clamp
ch.queue_declare('pq',arguments={'x-max-priority':5}); 
for p in (1,9,None,5): ch.basic_publish('','pq',str(p).encode(),pika.BasicProperties(priority=p))
time.sleep(.1); print('prio order',[ch.basic_get('pq',auto_ack=True)[2] for _ in range(4)])
# direct reply-to
r=[]; ch2=c.channel(); ch2.basic_consume('amq.rabbitmq.reply-to',lambda a,m,p,b:r.append((m.exchange,m.routing_key,b)),auto_ack=True); ch2.basic_publish('','dl',b'req',pika.BasicProperties(reply_to='amq.rabbitmq.reply-to')); time.sleep(.1); m,p,b=ch.basic_get('dl',auto_ack=True); print('reply_to seen by server',p.reply_to); ch.basic_publish('',p.reply_to,b'resp'); c.process_data_events(.3); print('reply',r)
# requeue order
ch.queue_declare('rq'); [ch.basic_publish('','rq',str(i).encode()) for i in range(3)]; a=[ch.basic_get('rq')[0] for _ in range(2)]; ch.basic_nack(a[-1].delivery_tag,multiple=True); time.sleep(.1); print('requeue',[(lambda t:(t[2],t[0].redelivered))(ch.basic_get('rq',auto_ack=True)) for _ in range(3)])
for q in ('d1','dl','d2','d3','d4','d5','d6','q1','h1','t1','pq','rq'): ch.queue_delete(q)
for x in ('hx','tx'): ch.exchange_delete(x)
c.close()

